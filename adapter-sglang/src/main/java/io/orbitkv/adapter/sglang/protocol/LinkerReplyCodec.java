package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The fields of each {@link LinkerReply} on the wire, in order. A tag is its record's place, from 1. */
final class LinkerReplyCodec {

  private static final Reply.Refusal[] REFUSALS = Reply.Refusal.values();
  private static final LinkerReply.Standing[] STANDINGS = LinkerReply.Standing.values();

  /** Longest message of a refusal: some name a value that the engine sent, and that may be long. */
  private static final int MAX_MESSAGE = 300;

  private LinkerReplyCodec() {}

  /** Writes a reply. */
  static void write(LinkerReply reply, PackWriter out) {
    switch (reply) {
      case LinkerReply.Welcome welcome -> {
        out.message(1, 3);
        out.int64(welcome.protocol());
        out.text(welcome.software());
        out.int64(welcome.pid());
      }
      case LinkerReply.Refused refused -> {
        out.message(2, 2);
        out.constant(refused.refusal());
        String message = refused.message();
        out.text(message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE) + "...");
      }
      case LinkerReply.Identifying identifying -> {
        out.message(3, 2);
        out.int64(identifying.doneBytes());
        out.int64(identifying.totalBytes());
      }
      case LinkerReply.Identified identified -> {
        out.message(4, 1);
        out.digest(identified.namespace());
      }
      case LinkerReply.Attached attached -> {
        out.message(5, 1);
        out.bool(attached.attached());
      }
      case LinkerReply.Matched matched -> {
        out.message(6, 4);
        out.constant(matched.standing());
        out.int64(matched.blocks());
        out.int64(matched.lease());
        out.array(matched.window().size());
        matched.window().forEach(out::int64);
      }
      case LinkerReply.Done _ -> out.message(7, 0);
      case LinkerReply.Counted counted -> {
        out.message(8, 1);
        out.map(counted.values().size());
        counted.values().forEach((name, value) -> {
          out.text(name);
          out.int64(value);
        });
      }
    }
  }

  /** Reads a reply. */
  static LinkerReply read(PackReader in) throws MalformedException {
    int tag = in.tag();
    LinkerReply reply = switch (tag) {
      case 1 -> {
        in.message("Welcome", 3);
        yield new LinkerReply.Welcome(in.int32("protocol"), in.text("software"), in.int64("pid"));
      }
      case 2 -> {
        in.message("Refused", 2);
        yield new LinkerReply.Refused(in.constant("refusal", REFUSALS), in.text("message"));
      }
      case 3 -> {
        in.message("Identifying", 2);
        yield new LinkerReply.Identifying(in.int64("doneBytes"), in.int64("totalBytes"));
      }
      case 4 -> {
        in.message("Identified", 1);
        yield new LinkerReply.Identified(in.digest("namespace"));
      }
      case 5 -> {
        in.message("Attached", 1);
        yield new LinkerReply.Attached(in.bool("attached"));
      }
      case 6 -> {
        in.message("Matched", 4);
        yield new LinkerReply.Matched(
            in.constant("standing", STANDINGS), in.int32("blocks"), in.int64("lease"), leases(in));
      }
      case 7 -> {
        in.message("Done", 0);
        yield new LinkerReply.Done();
      }
      case 8 -> {
        in.message("Counted", 1);
        yield new LinkerReply.Counted(values(in));
      }
      default -> throw new MalformedException("linker reply: expected a tag of 1 to 8, found " + tag);
    };
    in.end();
    return reply;
  }

  private static List<Long> leases(PackReader in) throws MalformedException {
    List<Long> leases = new ArrayList<>();
    for (int left = in.array("window"); left > 0; left--) {
      leases.add(in.int64("window"));
    }
    return leases;
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
