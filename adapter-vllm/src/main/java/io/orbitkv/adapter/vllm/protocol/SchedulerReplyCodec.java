package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The fields of each {@link SchedulerReply} on the wire, in order. A tag is its record's place, from 1. */
final class SchedulerReplyCodec {

  private static final Reply.Refusal[] REFUSALS = Reply.Refusal.values();
  private static final SchedulerReply.Standing[] STANDINGS = SchedulerReply.Standing.values();

  /** Longest message of a refusal: some name a value that the engine sent, and that may be long. */
  private static final int MAX_MESSAGE = 300;

  private SchedulerReplyCodec() {}

  /** Writes a reply. */
  static void write(SchedulerReply reply, PackWriter out) {
    switch (reply) {
      case SchedulerReply.Welcome welcome -> {
        out.message(1, 3);
        out.int64(welcome.protocol());
        out.text(welcome.software());
        out.int64(welcome.pid());
      }
      case SchedulerReply.Refused refused -> {
        out.message(2, 2);
        out.constant(refused.refusal());
        String message = refused.message();
        out.text(message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE) + "...");
      }
      case SchedulerReply.Identifying identifying -> {
        out.message(3, 2);
        out.int64(identifying.doneBytes());
        out.int64(identifying.totalBytes());
      }
      case SchedulerReply.Identified identified -> {
        out.message(4, 1);
        out.digest(identified.namespace());
      }
      case SchedulerReply.Attached attached -> {
        out.message(5, 1);
        out.bool(attached.attached());
      }
      case SchedulerReply.Matched matched -> {
        out.message(6, 2);
        out.constant(matched.standing());
        out.int64(matched.tokens());
      }
      case SchedulerReply.Plan plan -> write(plan, out);
      case SchedulerReply.ResetDone done -> {
        out.message(8, 1);
        out.bool(done.accepted());
      }
      case SchedulerReply.Counted counted -> {
        out.message(9, 1);
        out.map(counted.values().size());
        counted.values().forEach((name, value) -> {
          out.text(name);
          out.int64(value);
        });
      }
    }
  }

  private static void write(SchedulerReply.Plan plan, PackWriter out) {
    out.message(7, 6);
    out.array(plan.loads().size());
    for (SchedulerReply.Load load : plan.loads()) {
      out.array(4);
      out.text(load.request());
      out.int64(load.lease());
      out.int64(load.firstBlock());
      out.ints(load.pages());
    }
    out.array(plan.saves().size());
    for (SchedulerReply.Save save : plan.saves()) {
      out.array(7);
      out.int64(save.save());
      out.text(save.request());
      out.int64(save.series());
      out.int64(save.known());
      out.chain(save.hashes());
      out.int64(save.firstBlock());
      out.ints(save.pages());
    }
    out.longs(plan.endedSeries());
    out.longs(plan.stored());
    out.bool(plan.cleared());
    out.chain(plan.departed());
  }

  /** Reads a reply. */
  static SchedulerReply read(PackReader in) throws MalformedException {
    int tag = in.tag();
    SchedulerReply reply = switch (tag) {
      case 1 -> {
        in.message("Welcome", 3);
        yield new SchedulerReply.Welcome(in.int32("protocol"), in.text("software"), in.int64("pid"));
      }
      case 2 -> {
        in.message("Refused", 2);
        yield new SchedulerReply.Refused(in.constant("refusal", REFUSALS), in.text("message"));
      }
      case 3 -> {
        in.message("Identifying", 2);
        yield new SchedulerReply.Identifying(in.int64("doneBytes"), in.int64("totalBytes"));
      }
      case 4 -> {
        in.message("Identified", 1);
        yield new SchedulerReply.Identified(in.digest("namespace"));
      }
      case 5 -> {
        in.message("Attached", 1);
        yield new SchedulerReply.Attached(in.bool("attached"));
      }
      case 6 -> {
        in.message("Matched", 2);
        yield new SchedulerReply.Matched(in.constant("standing", STANDINGS), in.int32("tokens"));
      }
      case 7 -> {
        in.message("Plan", 6);
        yield new SchedulerReply.Plan(loads(in), saves(in), in.longs("endedSeries"), in.longs("stored"),
            in.bool("cleared"), in.chain("departed"));
      }
      case 8 -> {
        in.message("ResetDone", 1);
        yield new SchedulerReply.ResetDone(in.bool("accepted"));
      }
      case 9 -> {
        in.message("Counted", 1);
        yield new SchedulerReply.Counted(values(in));
      }
      default -> throw new MalformedException("scheduler reply: expected a tag of 1 to 9, found " + tag);
    };
    in.end();
    return reply;
  }

  private static List<SchedulerReply.Load> loads(PackReader in) throws MalformedException {
    List<SchedulerReply.Load> loads = new ArrayList<>();
    for (int left = in.array("loads"); left > 0; left--) {
      in.array("loads", 4);
      loads.add(new SchedulerReply.Load(in.text("loads.request"), in.int64("loads.lease"),
          in.int32("loads.firstBlock"), in.ints("loads.pages")));
    }
    return loads;
  }

  private static List<SchedulerReply.Save> saves(PackReader in) throws MalformedException {
    List<SchedulerReply.Save> saves = new ArrayList<>();
    for (int left = in.array("saves"); left > 0; left--) {
      in.array("saves", 7);
      saves.add(new SchedulerReply.Save(in.int64("saves.save"), in.text("saves.request"), in.int64("saves.series"),
          in.int32("saves.known"), in.chain("saves.hashes"), in.int32("saves.firstBlock"), in.ints("saves.pages")));
    }
    return saves;
  }

  private static Map<String, Long> values(PackReader in) throws MalformedException {
    Map<String, Long> values = new TreeMap<>();
    for (int left = in.map("values"); left > 0; left--) {
      if (values.put(in.text("values"), in.int64("values")) != null) {
        throw new MalformedException("Counted.values: expected each name once, found one twice");
      }
    }
    return values;
  }
}
