package io.orbitkv.core.sim;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.core.machine.Fault;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Isolated, since it uses every processor itself. */
@Isolated
class SimulatorTest {

  private static final long RUNS = 20_000;

  @Test
  void everyInvariantHoldsOverTwentyThousandSeeds() {
    Long only = Long.getLong("orbitkv.sim.seed");
    Map<String, Long> seen = new ConcurrentHashMap<>();
    LongStream seeds = only == null ? LongStream.range(0, RUNS).parallel() : LongStream.of(only);
    long runs = seeds.peek(seed -> run(seed).forEach((what, count) -> seen.merge(what, count, Long::sum))).map(seed -> 1).sum();
    assertThat(runs).isEqualTo(only == null ? RUNS : 1);
    if (only == null) {
      assertThat(seen).as("what the seeds brought about").containsKeys(
          "bytes_compared", "hit_dram", "hit_ssd", "carried", "restarts", "lost_idle", "lost_with_grants", "evicted", "dropped",
          "save_cancelled", "save_submitted_in_part", "save_acknowledged_late", "saved_after_it_was_torn",
          "wrote_after_loss", "ssd_none", "ssd_healthy", "ssd_read-only", "ssd_off",
          "missed_NOT_STORED", "missed_FAILED_READ", "missed_NO_MEMORY", "missed_OVER_BUDGET");
      assertThat(Arrays.stream(Fault.values()).map(Fault::label).filter(fault -> !seen.containsKey(fault)))
          .as("faults that no seed brought about").containsExactly(Fault.RECOVERY_LAYOUT.label());
    }
  }

  private static Map<String, Long> run(long seed) {
    try (Simulation simulation = new Simulation(seed)) {
      simulation.run(SimulatorMain.EVENTS);
      return simulation.seen();
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError("seed " + seed + " fails: " + e + "; replay it with -Dorbitkv.sim.seed=" + seed, e);
    }
  }
}
