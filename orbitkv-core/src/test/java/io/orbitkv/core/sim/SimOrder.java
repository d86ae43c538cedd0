package io.orbitkv.core.sim;

import io.orbitkv.api.spi.EvictionOrder;
import io.orbitkv.core.machine.Invariants.Violation;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.random.RandomGenerator;

/**
 * An order that holds the core to the rules of the interface. It chooses at random and sometimes refuses blocks, or
 * without a random generator lets everything in and chooses the lowest number.
 */
public final class SimOrder implements EvictionOrder {

  private final RandomGenerator random;
  private final Map<Integer, Boolean> free = new HashMap<>();
  private final TreeSet<Integer> victims = new TreeSet<>();

  /** Makes an order without chance. */
  public SimOrder() {
    this(null);
  }

  SimOrder(RandomGenerator random) {
    this.random = random;
  }

  @Override
  public void inserted(int block, int parent, long fingerprint) {
    require(free.put(block, false) == null, block, "inserted twice");
    require(parent == NONE || free.containsKey(parent), block, "inserted under a parent that is not there");
  }

  @Override
  public void used(int block) {
    require(free.containsKey(block), block, "used and not there");
  }

  @Override
  public void held(int block) {
    require(Boolean.TRUE.equals(free.put(block, false)), block, "held twice");
    victims.remove(block);
  }

  @Override
  public void released(int block) {
    require(Boolean.FALSE.equals(free.put(block, true)), block, "released twice");
    victims.add(block);
  }

  @Override
  public void removed(int block, boolean evicted) {
    require(Boolean.TRUE.equals(free.remove(block)), block, "removed while it was held");
    victims.remove(block);
  }

  @Override
  public int victim() {
    if (victims.isEmpty()) {
      return NONE;
    }
    if (random == null) {
      return victims.first();
    }
    Integer victim = victims.ceiling(random.nextInt(victims.last() + 1));
    return victim == null ? victims.first() : victim;
  }

  @Override
  public boolean admits(long fingerprint, int parent) {
    return random == null || random.nextInt(20) != 0;
  }

  private static void require(boolean condition, int block, String what) {
    if (!condition) {
      throw new Violation("block " + block + " was " + what);
    }
  }
}
