package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The fields of each {@link LinkerRequest} on the wire, in order. A tag is its record's place, from 1. */
final class LinkerRequestCodec {

  private LinkerRequestCodec() {}

  /** Writes a request. */
  static void write(LinkerRequest request, PackWriter out) {
    switch (request) {
      case LinkerRequest.Hello hello -> {
        out.message(1, 4);
        out.int64(hello.protocol());
        out.text(hello.software());
        out.text(hello.engineVersion());
        out.digest(hello.probe());
      }
      case LinkerRequest.Identify identify -> {
        out.message(2, 4);
        out.text(identify.modelPath());
        out.chain(PrefixChain.of(identify.assertedDigest().stream().toList()));
        out.array(identify.adapterPaths().size());
        identify.adapterPaths().forEach(out::text);
        out.array(identify.facts().size());
        for (Fact fact : identify.facts()) {
          out.array(2);
          out.text(fact.name());
          out.text(fact.value());
        }
      }
      case LinkerRequest.Attach attach -> {
        out.message(3, 12);
        out.text(attach.instance());
        out.int64(attach.incarnation());
        out.digest(attach.namespace());
        out.int64(attach.rank());
        out.int64(attach.ranks());
        out.int64(attach.shardBytes());
        out.int64(attach.blockTokens());
        out.int64(attach.pendingMillis());
        out.int64(attach.windowBlocks());
        out.text(attach.windowInstance());
        out.chain(PrefixChain.of(attach.windowNamespace().stream().toList()));
        out.int64(attach.windowShardBytes());
      }
      case LinkerRequest.Lookup lookup -> {
        out.message(4, 4);
        out.text(lookup.request());
        out.int64(lookup.ownBlocks());
        out.digest(lookup.last());
        out.chain(lookup.chain());
      }
      case LinkerRequest.GiveUp giveUp -> {
        out.message(5, 2);
        out.text(giveUp.request());
        out.int64(giveUp.lease());
      }
      case LinkerRequest.Counters _ -> out.message(6, 0);
    }
  }

  /** Reads a request. */
  static LinkerRequest read(PackReader in) throws MalformedException {
    int tag = in.tag();
    LinkerRequest request = switch (tag) {
      case 1 -> {
        in.message("Hello", 4);
        yield new LinkerRequest.Hello(
            in.int32("protocol"), in.text("software"), in.text("engineVersion"), in.digest("probe"));
      }
      case 2 -> {
        in.message("Identify", 4);
        yield new LinkerRequest.Identify(
            in.text("modelPath"), hashOrNone(in, "Identify", "assertedDigest"), paths(in), facts(in));
      }
      case 3 -> {
        in.message("Attach", 12);
        yield new LinkerRequest.Attach(in.text("instance"), in.int64("incarnation"), in.digest("namespace"),
            in.int32("rank"), in.int32("ranks"), in.int32("shardBytes"), in.int32("blockTokens"),
            in.int32("pendingMillis"), in.int32("windowBlocks"), in.text("windowInstance"),
            hashOrNone(in, "Attach", "windowNamespace"), in.int32("windowShardBytes"));
      }
      case 4 -> {
        in.message("Lookup", 4);
        yield new LinkerRequest.Lookup(
            in.text("request"), in.int32("ownBlocks"), in.digest("last"), in.chain("chain"));
      }
      case 5 -> {
        in.message("GiveUp", 2);
        yield new LinkerRequest.GiveUp(in.text("request"), in.int64("lease"));
      }
      case 6 -> {
        in.message("Counters", 0);
        yield new LinkerRequest.Counters();
      }
      default -> throw new MalformedException("linker request: expected a tag of 1 to 6, found " + tag);
    };
    in.end();
    return request;
  }

  private static Optional<Digest> hashOrNone(PackReader in, String message, String field) throws MalformedException {
    PrefixChain given = in.chain(field);
    if (given.blocks() > 1) {
      throw new MalformedException(message + "." + field + ": expected 32 bytes or none, found "
          + given.blocks() * Digest.BYTES);
    }
    return given.blocks() == 0 ? Optional.empty() : Optional.of(given.hash(0));
  }

  private static List<String> paths(PackReader in) throws MalformedException {
    List<String> paths = new ArrayList<>();
    for (int left = in.array("adapterPaths"); left > 0; left--) {
      paths.add(in.text("adapterPaths"));
    }
    return paths;
  }

  private static List<Fact> facts(PackReader in) throws MalformedException {
    List<Fact> facts = new ArrayList<>();
    for (int left = in.array("facts"); left > 0; left--) {
      in.array("facts", 2);
      facts.add(new Fact(in.text("facts.name"), in.text("facts.value")));
    }
    return facts;
  }
}
