package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.Device;
import io.orbitkv.api.spi.DeviceOptions;
import io.orbitkv.cli.replay.CacheOpener;
import io.orbitkv.cli.replay.Replay;
import io.orbitkv.cli.replay.ReplayPlan;
import io.orbitkv.cli.replay.ReplayReport;
import io.orbitkv.cli.terminal.Progress;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.cli.workload.Workload;
import io.orbitkv.cli.workload.WorkloadShape;
import io.orbitkv.core.Backends;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code orbitkv quickstart}: the main job, small enough to watch. */
@Command(
    name = "quickstart",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Shows the cache at work on this machine, and checks it: generated conversations, less memory than they need, "
          + "an SSD tier in a folder that is removed, and a restart in the middle.",
      ""
    })
final class QuickstartCommand implements Callable<Integer> {

  private static final int RANKS = 2;
  private static final int LAYERS = 4;
  private static final long SEED = 1;
  private static final ByteSize BLOCK = ByteSize.parse("64KiB");
  private static final ByteSize DRAM = ByteSize.parse("32MiB");
  private static final ByteSize SSD = ByteSize.parse("2GiB");

  private final Terminal terminal;
  private final BiFunction<CacheSettings, Backends, CacheOpener> caches;

  @Option(names = "--dir", paramLabel = "DIR",
      description = "Where to make the folder of the SSD tier. Default: the system's folder for temporary files.")
  private Path directory;

  @Option(names = "--requests", paramLabel = "N", defaultValue = "3000",
      description = "Prompts to serve; the restart comes after half of them. Default: ${DEFAULT-VALUE}.")
  private int requests;

  @Mixin
  private PluginOptions plugins;

  QuickstartCommand(Terminal terminal, BiFunction<CacheSettings, Backends, CacheOpener> caches) {
    this.terminal = terminal;
    this.caches = caches;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (requests < 2) {
      throw new RefusedException(
          "--requests is " + requests + ", expected at least 2: some before the restart, some after");
    }
    PrintWriter out = terminal.out();
    Backends backends = plugins.backends();
    Workload workload = WorkloadShape.MULTI_TURN.generate(SEED, requests);
    say("A stand-in engine of %d ranks serves %,d prompts of conversations that grow turn by turn: %,d blocks",
        RANKS, requests, workload.blocks());
    say("of %s. What it computes, it saves; what was saved, it restores instead, and compares every byte", BLOCK);
    say("with what it would have computed.");
    out.println();
    try (ScratchFolder scratch = directory == null ? ScratchFolder.temporary() : ScratchFolder.in(directory);
        Device device = backends.device("cpu").open(new DeviceOptions(0, Map.of()))) {
      say("1. With %s of memory alone.", DRAM);
      CacheSettings memoryOnly = settings(Optional.empty(), Optional.empty());
      ReplayReport without = replay(workload, List.of(), caches.apply(memoryOnly, backends), device);
      sayPhase("   ", without.phases().getFirst());
      out.println();

      SsdTier tier = new SsdTier(scratch.path().resolve("ssd"), SSD);
      say("2. With the same memory, %s of SSD in %s,", SSD, tier.directory());
      say("   and a restart after %,d prompts.", requests / 2);
      CacheOpener opener = firstThatOpens(tier, backends);
      ReplayReport with = replay(workload, List.of(requests / 2), opener, device);
      sayPhase("   before the restart: ", with.phases().getFirst());
      sayPhase("   after the restart:  ", with.phases().getLast());
      out.println();
      return conclude(without, with);
    }
  }

  private ReplayReport replay(Workload workload, List<Integer> restartsAt, CacheOpener opener, Device device)
      throws InterruptedException {
    ReplayPlan plan = new ReplayPlan(workload, BLOCK.bytes(), RANKS, LAYERS, restartsAt, SEED);
    try (Progress progress = terminal.progress("   prompts", workload.prompts().size())) {
      return new Replay(plan, opener, device, progress, terminal.err()::println).run();
    }
  }

  /** The default storage, or files through channels where the machine forbids io_uring: said, and said why. */
  private CacheOpener firstThatOpens(SsdTier tier, Backends backends) throws InterruptedException {
    CacheOpener preferred = caches.apply(settings(Optional.of(tier), Optional.empty()), backends);
    try {
      preferred.open().cache().close();
      return preferred;
    } catch (UnavailableException e) {
      say("   The default storage cannot be used here: %s", e.getMessage());
      say("   Going on with the slower one that needs nothing special, as '--storage file' would choose it.");
      SsdTier other = new SsdTier(tier.directory().resolveSibling("ssd-file"), tier.capacity());
      return caches.apply(settings(Optional.of(other), Optional.of("file")), backends);
    }
  }

  private static CacheSettings settings(Optional<SsdTier> tier, Optional<String> storage) {
    return new CacheSettings(DRAM, BLOCK, tier, Optional.empty(), storage, Map.of(), Optional.empty(), SEED);
  }

  private int conclude(ReplayReport without, ReplayReport with) {
    ReplayReport.Phase restarted = with.phases().getLast();
    long wrong = without.mismatches() + with.mismatches();
    if (wrong > 0) {
      say("FAILED: %,d restored pages held wrong bytes.", wrong);
      return ExitCode.FAILED;
    }
    if (restarted.blocksHitSsd() == 0) {
      say("FAILED: nothing was served from the SSD after the restart; faults: %s", with.faults());
      return ExitCode.FAILED;
    }
    say("What this showed, on this machine:");
    say("  - %s of restored bytes, every one checked, none wrong.",
        new ByteSize(without.bytesVerified() + with.bytesVerified()));
    say("  - %.0f %% of the blocks did not have to be computed, with memory alone %.0f %%.", 100 * with.hitRate(),
        100 * without.hitRate());
    say("  - The restart found %,d blocks on the SSD; after it %,d blocks were read from there.",
        with.recoveredExtents(), restarted.blocksHitSsd());
    say("  - Saves ran at %.2f GB/s and restores at %.2f GB/s; a query had its first answer in %.1f us (p50).",
        with.saveGigabytesPerSecond(), with.restoreGigabytesPerSecond(), with.lookupMicrosP50());
    say("It took %.0f s. The engine was a stand-in: no model ran.", without.seconds() + with.seconds());
    terminal.out().println();
    say("Try next:");
    say("  orbitkv replay --workload long-doc --dram 256MiB --ssd /tmp/orbitkv:4GiB --world-size 4");
    say("  orbitkv replay --trace FILE --dram 2GiB --block-bytes 4KiB      a trace of your own");
    say("  orbitkv inspect /tmp/orbitkv                                   what a store's folder holds");
    say("  orbitkv bench ssd --dir /tmp                                   this disk, beside fio");
    return ExitCode.OK;
  }

  private void sayPhase(String what, ReplayReport.Phase phase) {
    say("%s%,d of %,d blocks were hits: %,d from memory, %,d from the SSD.", what,
        phase.blocksHitDram() + phase.blocksHitSsd(), phase.blocksQueried(), phase.blocksHitDram(),
        phase.blocksHitSsd());
  }

  private void say(String form, Object... values) {
    terminal.out().println(String.format(Locale.ROOT, form, values));
  }
}
