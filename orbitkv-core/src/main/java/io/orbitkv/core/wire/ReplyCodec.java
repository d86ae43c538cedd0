package io.orbitkv.core.wire;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** The fields of each {@link Reply} on the wire, in order. A tag is its record's place in the interface, from 1. */
final class ReplyCodec {

  private static final Reply.Refusal[] REFUSALS = Reply.Refusal.values();
  private static final Reply.Standing[] STANDINGS = Reply.Standing.values();

  private ReplyCodec() {}

  static void write(Reply reply, PackWriter out) {
    switch (reply) {
      case Reply.Welcome welcome -> {
        out.message(1, 5);
        out.int64(welcome.protocol());
        out.text(welcome.software());
        out.int64(welcome.incarnation());
        out.text(welcome.arena());
        out.int64(welcome.arenaBytes());
      }
      case Reply.Refused refused -> {
        out.message(2, 2);
        out.constant(refused.refusal());
        out.text(cut(refused.message()));
      }
      case Reply.Registered registered -> {
        out.message(3, 4);
        out.int64(registered.generation());
        out.int64(registered.member());
        out.text(registered.witness());
        out.int64(registered.missing());
      }
      case Reply.Answered answered -> {
        out.message(4, 7);
        out.constant(answered.standing());
        out.int64(answered.lease());
        out.int64(answered.bytes());
        out.int64(answered.dramBlocks());
        out.int64(answered.ssdBlocks());
        out.text(answered.reason());
        out.text(answered.bound());
      }
      case Reply.Granted granted -> {
        out.message(5, 2);
        out.int64(granted.grant());
        out.longs(granted.shardsAt());
      }
      case Reply.Committed committed -> {
        out.message(6, 1);
        out.int64(committed.blocks());
      }
      case Reply.Flushed flushed -> {
        out.message(7, 1);
        out.bool(flushed.all());
      }
      case Reply.Statistics statistics -> {
        out.message(8, 1);
        CacheStatsCodec.write(statistics.stats(), out);
      }
      case Reply.Done _ -> out.message(9, 0);
      case Reply.Departed departed -> {
        out.message(10, 3);
        out.int64(departed.cursor());
        out.bool(departed.all());
        out.chain(departed.blocks());
      }
    }
  }

  static Reply read(PackReader in) throws MalformedException {
    int tag = in.tag();
    Reply reply = switch (tag) {
      case 1 -> {
        in.message("Welcome", 5);
        yield new Reply.Welcome(
            in.int32("protocol"), in.text("software"), in.int64("incarnation"), in.text("arena"),
            in.int64("arenaBytes"));
      }
      case 2 -> {
        in.message("Refused", 2);
        yield new Reply.Refused(in.constant("refusal", REFUSALS), in.text("message"));
      }
      case 3 -> {
        in.message("Registered", 4);
        yield new Reply.Registered(
            in.int64("generation"), in.int64("member"), in.text("witness"), in.int32("missing"));
      }
      case 4 -> {
        in.message("Answered", 7);
        yield new Reply.Answered(
            in.constant("standing", STANDINGS), in.int64("lease"), in.int64("bytes"), in.int32("dramBlocks"),
            in.int32("ssdBlocks"), in.text("reason"), in.text("bound"));
      }
      case 5 -> {
        in.message("Granted", 2);
        yield new Reply.Granted(in.int64("grant"), in.longs("shardsAt"));
      }
      case 6 -> {
        in.message("Committed", 1);
        yield new Reply.Committed(in.int32("blocks"));
      }
      case 7 -> {
        in.message("Flushed", 1);
        yield new Reply.Flushed(in.bool("all"));
      }
      case 8 -> {
        in.message("Statistics", 1);
        yield new Reply.Statistics(CacheStatsCodec.read(in));
      }
      case 9 -> {
        in.message("Done", 0);
        yield new Reply.Done();
      }
      case 10 -> {
        in.message("Departed", 3);
        yield new Reply.Departed(in.int64("cursor"), in.bool("all"), in.chain("blocks"));
      }
      default -> throw new MalformedException("reply: expected a tag of 1 to 10, found " + tag);
    };
    in.end();
    return reply;
  }

  /** A refusal may quote what it refuses; its end is less worth than its arrival. */
  private static String cut(String message) {
    CharBuffer chars = CharBuffer.wrap(message);
    StandardCharsets.UTF_8.newEncoder()
        .onMalformedInput(CodingErrorAction.REPLACE)
        .encode(chars, ByteBuffer.allocate(Protocol.MAX_TEXT_BYTES), true);
    return message.substring(0, chars.position());
  }
}
