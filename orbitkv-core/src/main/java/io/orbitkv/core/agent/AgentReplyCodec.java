package io.orbitkv.core.agent;

import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Reply;

/** The fields of each {@link AgentReply} on the wire, in order. A tag is its record's place, from 1. */
final class AgentReplyCodec {

  private static final Reply.Refusal[] REFUSALS = Reply.Refusal.values();
  private static final Reply.Standing[] STANDINGS = Reply.Standing.values();
  private static final AgentReply.LayerStanding[] LAYER_STANDINGS = AgentReply.LayerStanding.values();

  /** Longest message of a refusal: some name a value that the engine sent, and that may be long. */
  private static final int MAX_MESSAGE = 1000;

  private AgentReplyCodec() {}

  static void write(AgentReply reply, PackWriter out) {
    switch (reply) {
      case AgentReply.Welcome welcome -> {
        out.message(1, 3);
        out.int64(welcome.protocol());
        out.text(welcome.software());
        out.int64(welcome.pid());
      }
      case AgentReply.Refused refused -> {
        out.message(2, 2);
        out.constant(refused.refusal());
        String message = refused.message();
        out.text(message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE) + "...");
      }
      case AgentReply.Opened opened -> {
        out.message(3, 1);
        out.bool(opened.attached());
      }
      case AgentReply.Answered answered -> {
        out.message(4, 5);
        out.constant(answered.standing());
        out.int64(answered.lease());
        out.int64(answered.dramBlocks());
        out.int64(answered.ssdBlocks());
        out.text(answered.reason());
      }
      case AgentReply.Started started -> {
        out.message(5, 2);
        out.int64(started.transfer());
        out.int64(started.blocks());
      }
      case AgentReply.Layer layer -> {
        out.message(6, 1);
        out.constant(layer.standing());
      }
      case AgentReply.Finished finished -> {
        out.message(7, 3);
        out.longs(finished.transfers());
        out.flags(finished.loads());
        out.ints(finished.blocks());
      }
      case AgentReply.Done _ -> out.message(8, 0);
    }
  }

  static AgentReply read(PackReader in) throws MalformedException {
    int tag = in.tag();
    AgentReply reply = switch (tag) {
      case 1 -> {
        in.message("Welcome", 3);
        yield new AgentReply.Welcome(in.int32("protocol"), in.text("software"), in.int64("pid"));
      }
      case 2 -> {
        in.message("Refused", 2);
        yield new AgentReply.Refused(in.constant("refusal", REFUSALS), in.text("message"));
      }
      case 3 -> {
        in.message("Opened", 1);
        yield new AgentReply.Opened(in.bool("attached"));
      }
      case 4 -> {
        in.message("Answered", 5);
        yield new AgentReply.Answered(in.constant("standing", STANDINGS), in.int64("lease"), in.int32("dramBlocks"),
            in.int32("ssdBlocks"), in.text("reason"));
      }
      case 5 -> {
        in.message("Started", 2);
        yield new AgentReply.Started(in.int64("transfer"), in.int32("blocks"));
      }
      case 6 -> {
        in.message("Layer", 1);
        yield new AgentReply.Layer(in.constant("standing", LAYER_STANDINGS));
      }
      case 7 -> {
        in.message("Finished", 3);
        yield finished(in.longs("transfers"), in.flags("loads"), in.ints("blocks"));
      }
      case 8 -> {
        in.message("Done", 0);
        yield new AgentReply.Done();
      }
      default -> throw new MalformedException("agent reply: expected a tag of 1 to 8, found " + tag);
    };
    in.end();
    return reply;
  }

  private static AgentReply.Finished finished(long[] transfers, boolean[] loads, int[] blocks)
      throws MalformedException {
    if (loads.length != transfers.length || blocks.length != transfers.length) {
      throw new MalformedException("Finished: expected columns of one length, found " + transfers.length
          + " transfers, " + loads.length + " loads and " + blocks.length + " blocks");
    }
    return new AgentReply.Finished(transfers, loads, blocks);
  }
}
