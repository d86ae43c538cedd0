package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.workload.TraceFile;
import io.orbitkv.cli.workload.Workload;
import io.orbitkv.cli.workload.WorkloadShape;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** What a replay serves, and the stand-in engine that serves it: the same for its command and for its workers. */
final class WorkloadOptions {

  /** Requests of a generated workload when nothing else is said. */
  static final int GENERATED_REQUESTS = 2_000;

  @ArgGroup(multiplicity = "1")
  private Source source;

  @Option(names = "--seed", paramLabel = "N", defaultValue = "1",
      description = "Decides generated prompts, pages and random choices. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--limit", paramLabel = "N",
      description = "Requests at most. Default: all of a trace, " + GENERATED_REQUESTS + " generated ones.")
  private Integer limit;

  @Option(names = "--block-bytes", paramLabel = "SIZE", defaultValue = "64KiB",
      description = "Bytes of a block over all ranks and layers. Default: ${DEFAULT-VALUE}.")
  private ByteSize blockBytes;

  @Option(names = "--layers", paramLabel = "N", defaultValue = "4",
      description = "Layers of the engine, each with a page of every block. Default: ${DEFAULT-VALUE}.")
  private int layers;

  long seed() {
    return seed;
  }

  ByteSize blockBytes() {
    return blockBytes;
  }

  /** Returns the plan for an engine of some ranks. */
  ReplayPlan plan(int ranks, List<Integer> restartsAt) {
    return new ReplayPlan(source.workload(seed, limit), blockBytes.bytes(), ranks, layers, restartsAt, seed);
  }

  /** Returns the same options as they are typed. */
  List<String> arguments() {
    List<String> arguments = new ArrayList<>(source.trace != null
        ? List.of("--trace", source.trace.toString())
        : List.of("--workload", source.workload));
    arguments.addAll(List.of("--seed", Long.toString(seed), "--block-bytes", blockBytes.bytes() + "B", "--layers",
        Integer.toString(layers)));
    if (limit != null) {
      arguments.addAll(List.of("--limit", limit.toString()));
    }
    return arguments;
  }

  /** Where the requests come from: exactly one of the two. */
  private static final class Source {

    @Option(names = "--trace", required = true, paramLabel = "FILE",
        description = "A trace: one JSON object a line, with the prompt's block ids in 'hash_ids'.")
    private Path trace;

    @Option(names = "--workload", required = true, paramLabel = "NAME",
        description = "A generated workload: multi-turn, shared-prefix or long-doc.")
    private String workload;

    private Source() {}

    Workload workload(long seed, Integer limit) {
      if (limit != null && limit < 1) {
        throw new RefusedException("--limit is " + limit + ", expected at least 1");
      }
      return trace != null
          ? new TraceFile(trace).read(limit == null ? Integer.MAX_VALUE : limit)
          : WorkloadShape.named(workload).generate(seed, limit == null ? GENERATED_REQUESTS : limit);
    }
  }
}
