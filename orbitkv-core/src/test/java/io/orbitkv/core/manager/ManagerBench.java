package io.orbitkv.core.manager;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.MemoryOptions;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;
import io.orbitkv.core.assembly.CacheParts;
import io.orbitkv.core.machine.CoreLimits;
import io.orbitkv.core.sim.SimOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** A Manager over a test's memory, and what its tests ask of it. */
final class ManagerBench implements AutoCloseable {

  static final int SHARD_BYTES = 4096;
  static final long MEMORY_BYTES = 64L << 12;

  final Manager manager;

  ManagerBench(Path folder) {
    this(folder, Manager.builder());
  }

  ManagerBench(Path folder, Manager.Builder builder) {
    this.manager = new Manager(builder.grantsLimit(Duration.ZERO), new CacheParts(new FileMemory(),
        new MemoryOptions(MEMORY_BYTES, folder, Map.of()), new Policy(), new PolicyOptions(64, 1, Map.of()),
        Optional.empty(), CoreLimits.of(MEMORY_BYTES), 1));
  }

  /** Returns a connection that has said hello. */
  Caller caller() {
    return Caller.greeted(manager.socket());
  }

  /** Returns a chain of blocks with numbers of their own. */
  static PrefixChain chain(int... tokens) {
    return PrefixChain.ofTokens(tokens, 1);
  }

  /** Waits for what another thread does soon. */
  static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError("it did not come true within 60 s");
      }
      Thread.onSpinWait();
    }
  }

  @Override
  public void close() {
    manager.close();
  }

  private static final class Policy implements ResidencyPolicy {
    @Override
    public String name() {
      return "test";
    }

    @Override
    public EvictionOrder open(PolicyOptions options) {
      return new SimOrder();
    }
  }
}
