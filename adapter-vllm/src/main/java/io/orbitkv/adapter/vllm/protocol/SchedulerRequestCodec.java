package io.orbitkv.adapter.vllm.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** The fields of each {@link SchedulerRequest} on the wire, in order. A tag is its record's place, from 1. */
final class SchedulerRequestCodec {

  private SchedulerRequestCodec() {}

  /** Writes a request. */
  static void write(SchedulerRequest request, PackWriter out) {
    switch (request) {
      case SchedulerRequest.Hello hello -> {
        out.message(1, 4);
        out.int64(hello.protocol());
        out.text(hello.software());
        out.text(hello.engineVersion());
        out.digest(hello.probe());
      }
      case SchedulerRequest.Identify identify -> {
        out.message(2, 4);
        out.text(identify.modelPath());
        out.chain(PrefixChain.of(identify.assertedDigest().stream().toList()));
        write(identify.adapterPaths(), out, out::text);
        write(identify.facts(), out, fact -> {
          out.array(2);
          out.text(fact.name());
          out.text(fact.value());
        });
      }
      case SchedulerRequest.Attach attach -> {
        out.message(3, 9);
        out.text(attach.instance());
        out.int64(attach.incarnation());
        out.digest(attach.namespace());
        out.int64(attach.ranks());
        out.int64(attach.shardBytes());
        out.int64(attach.blockTokens());
        out.int64(attach.deferMillis());
        out.bool(attach.saves());
        out.bool(attach.departures());
      }
      case SchedulerRequest.Lookup lookup -> {
        out.message(4, 5);
        out.text(lookup.request());
        out.int64(lookup.computedTokens());
        out.int64(lookup.totalTokens());
        out.int64(lookup.known());
        out.chain(lookup.hashes());
      }
      case SchedulerRequest.Step step -> writeStep(step, out);
      case SchedulerRequest.Reset _ -> out.message(6, 0);
      case SchedulerRequest.Counters _ -> out.message(7, 0);
    }
  }

  private static void writeStep(SchedulerRequest.Step step, PackWriter out) {
    out.message(5, 7);
    write(step.allocated(), out, allocated -> {
      out.array(3);
      out.text(allocated.request());
      out.int64(allocated.externalTokens());
      out.ints(allocated.pages());
    });
    write(step.advanced(), out, advanced -> {
      out.array(6);
      out.text(advanced.request());
      out.int64(advanced.computedTokens());
      out.int64(advanced.known());
      out.chain(advanced.hashes());
      out.int64(advanced.firstPage());
      out.ints(advanced.pages());
    });
    write(step.preempted(), out, out::text);
    write(step.finished(), out, out::text);
    write(step.savesEnded(), out, ended -> {
      out.array(2);
      out.int64(ended.save());
      out.int64(ended.blocks());
    });
    write(step.loadsEnded(), out, ended -> {
      out.array(2);
      out.text(ended.request());
      out.bool(ended.loaded());
    });
    out.int64(step.room());
  }

  private static <T> void write(List<T> values, PackWriter out, Consumer<T> write) {
    out.array(values.size());
    values.forEach(write);
  }

  /** Reads a request. */
  static SchedulerRequest read(PackReader in) throws MalformedException {
    int tag = in.tag();
    SchedulerRequest request = switch (tag) {
      case 1 -> {
        in.message("Hello", 4);
        yield new SchedulerRequest.Hello(
            in.int32("protocol"), in.text("software"), in.text("engineVersion"), in.digest("probe"));
      }
      case 2 -> {
        in.message("Identify", 4);
        yield new SchedulerRequest.Identify(in.text("modelPath"), digest(in, "assertedDigest"),
            texts(in, "adapterPaths"), facts(in));
      }
      case 3 -> {
        in.message("Attach", 9);
        yield new SchedulerRequest.Attach(in.text("instance"), in.int64("incarnation"), in.digest("namespace"),
            in.int32("ranks"), in.int32("shardBytes"), in.int32("blockTokens"), in.int32("deferMillis"),
            in.bool("saves"), in.bool("departures"));
      }
      case 4 -> {
        in.message("Lookup", 5);
        yield new SchedulerRequest.Lookup(in.text("request"), in.int32("computedTokens"), in.int32("totalTokens"),
            in.int32("known"), in.chain("hashes"));
      }
      case 5 -> {
        in.message("Step", 7);
        yield new SchedulerRequest.Step(allocated(in), advanced(in), texts(in, "preempted"), texts(in, "finished"),
            savesEnded(in), loadsEnded(in), in.int32("room"));
      }
      case 6 -> {
        in.message("Reset", 0);
        yield new SchedulerRequest.Reset();
      }
      case 7 -> {
        in.message("Counters", 0);
        yield new SchedulerRequest.Counters();
      }
      default -> throw new MalformedException("scheduler request: expected a tag of 1 to 7, found " + tag);
    };
    in.end();
    return request;
  }

  /** Reads 32 bytes, or none. */
  private static Optional<Digest> digest(PackReader in, String field) throws MalformedException {
    PrefixChain digests = in.chain(field);
    return switch (digests.blocks()) {
      case 0 -> Optional.empty();
      case 1 -> Optional.of(digests.hash(0));
      default -> throw new MalformedException(
          "Identify." + field + ": expected 32 bytes or none, found " + Digest.BYTES * digests.blocks());
    };
  }

  private static List<String> texts(PackReader in, String field) throws MalformedException {
    List<String> texts = new ArrayList<>();
    for (int left = in.array(field); left > 0; left--) {
      texts.add(in.text(field));
    }
    return texts;
  }

  private static List<Fact> facts(PackReader in) throws MalformedException {
    List<Fact> facts = new ArrayList<>();
    for (int left = in.array("facts"); left > 0; left--) {
      in.array("facts", 2);
      facts.add(new Fact(in.text("facts.name"), in.text("facts.value")));
    }
    return facts;
  }

  private static List<SchedulerRequest.Allocated> allocated(PackReader in) throws MalformedException {
    List<SchedulerRequest.Allocated> allocated = new ArrayList<>();
    for (int left = in.array("allocated"); left > 0; left--) {
      in.array("allocated", 3);
      allocated.add(new SchedulerRequest.Allocated(in.text("allocated.request"), in.int32("allocated.externalTokens"),
          in.ints("allocated.pages")));
    }
    return allocated;
  }

  private static List<SchedulerRequest.Advanced> advanced(PackReader in) throws MalformedException {
    List<SchedulerRequest.Advanced> advanced = new ArrayList<>();
    for (int left = in.array("advanced"); left > 0; left--) {
      in.array("advanced", 6);
      advanced.add(new SchedulerRequest.Advanced(in.text("advanced.request"), in.int32("advanced.computedTokens"),
          in.int32("advanced.known"), in.chain("advanced.hashes"), in.int32("advanced.firstPage"),
          in.ints("advanced.pages")));
    }
    return advanced;
  }

  private static List<SchedulerRequest.SaveEnded> savesEnded(PackReader in) throws MalformedException {
    List<SchedulerRequest.SaveEnded> ended = new ArrayList<>();
    for (int left = in.array("savesEnded"); left > 0; left--) {
      in.array("savesEnded", 2);
      ended.add(new SchedulerRequest.SaveEnded(in.int64("savesEnded.save"), in.int32("savesEnded.blocks")));
    }
    return ended;
  }

  private static List<SchedulerRequest.LoadEnded> loadsEnded(PackReader in) throws MalformedException {
    List<SchedulerRequest.LoadEnded> ended = new ArrayList<>();
    for (int left = in.array("loadsEnded"); left > 0; left--) {
      in.array("loadsEnded", 2);
      ended.add(new SchedulerRequest.LoadEnded(in.text("loadsEnded.request"), in.bool("loadsEnded.loaded")));
    }
    return ended;
  }
}
