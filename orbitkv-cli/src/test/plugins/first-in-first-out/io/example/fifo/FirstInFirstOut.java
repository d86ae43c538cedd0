package io.example.fifo;

import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.api.spi.PolicyOptions;
import io.orbitkv.api.spi.ResidencyPolicy;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** Blocks leave in the order in which they came, whatever was used since. */
public final class FirstInFirstOut implements ResidencyPolicy {

  /** Has no effect. */
  public FirstInFirstOut() {}

  @Override
  public String name() {
    return "fifo";
  }

  @Override
  public EvictionOrder open(PolicyOptions options) {
    if (!options.settings().isEmpty()) {
      throw new RefusedException("policy 'fifo' has no settings, and was given " + options.settings().keySet());
    }
    return new Order();
  }

  private static final class Order implements EvictionOrder {

    private final Map<Integer, Long> arrivalOf = new HashMap<>();
    private final TreeMap<Long, Integer> leavableByArrival = new TreeMap<>();
    private long arrivals;

    @Override
    public void inserted(int block, int parent, long fingerprint) {
      arrivalOf.put(block, arrivals++);
    }

    @Override
    public void used(int block) {}

    @Override
    public void held(int block) {
      leavableByArrival.remove(arrivalOf.get(block));
    }

    @Override
    public void released(int block) {
      leavableByArrival.put(arrivalOf.get(block), block);
    }

    @Override
    public void removed(int block, boolean evicted) {
      leavableByArrival.remove(arrivalOf.remove(block));
    }

    @Override
    public int victim() {
      return leavableByArrival.isEmpty() ? NONE : leavableByArrival.firstEntry().getValue();
    }
  }
}
