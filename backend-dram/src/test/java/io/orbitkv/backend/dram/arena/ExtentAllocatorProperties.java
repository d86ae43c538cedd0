package io.orbitkv.backend.dram.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Random runs against a model that knows every extent: a sorted map of first units to sizes. */
class ExtentAllocatorProperties {

  private final TreeMap<Integer, Integer> model = new TreeMap<>();
  private int limit;

  @Property(tries = 150)
  void everyGrantIsFreeRoomAndEveryRefusalIsHonest(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int shape,
      @ForAll @IntRange(min = 1, max = 600) int steps) {
    Random random = new Random(seed);
    ExtentAllocator extents = new ExtentAllocator();
    model.clear();
    limit = 0;
    for (int step = 0; step < steps; step++) {
      switch (random.nextInt(8)) {
        case 0 -> extents.grow(limit += random.nextInt(400));
        case 1, 2, 3, 4 -> allocate(extents, size(random, shape));
        default -> {
          if (!model.isEmpty()) {
            int first = new ArrayList<>(model.keySet()).get(random.nextInt(model.size()));
            model.remove(first);
            extents.free(first);
          }
        }
      }
      checkFigures(extents);
    }
    for (int first : List.copyOf(model.keySet())) {
      extents.free(first);
    }
    model.clear();
    checkFigures(extents);
    if (limit > 0) {
      assertThat(extents.allocate(limit)).as("one extent again after all were freed").isZero();
    }
  }

  private static int size(Random random, int shape) {
    return switch (shape) {
      case 1 -> 77; // one size, not the boundary of a class
      case 2 -> 1 + random.nextInt(40);
      default -> 1 + (int) Math.exp(random.nextDouble() * 7);
    };
  }

  private void allocate(ExtentAllocator extents, int units) {
    int largest = extents.largestFree(limit);
    int first = extents.allocate(units);
    if (first == ExtentAllocator.NONE) {
      assertThat(units).as("refused").isGreaterThan(largest);
      assertThat(largestGap()).as("largest gap, rounded down to a class").isLessThan(units + units / 32 + 1);
      return;
    }
    assertThat(first).isBetween(0, limit - units);
    Map.Entry<Integer, Integer> below = model.floorEntry(first + units - 1);
    assertThat(below == null || below.getKey() + below.getValue() <= first).as("no overlap").isTrue();
    model.put(first, units);
  }

  private void checkFigures(ExtentAllocator extents) {
    assertThat(extents.limit()).isEqualTo(limit);
    assertThat(extents.allocatedUnits()).isEqualTo(model.values().stream().mapToLong(Integer::longValue).sum());
    int gap = largestGap();
    int largest = extents.largestFree(limit);
    assertThat(largest).isLessThanOrEqualTo(gap);
    assertThat(ExtentAllocator.sizeClass(largest)).isEqualTo(ExtentAllocator.sizeClass(gap));
  }

  private int largestGap() {
    int end = 0;
    int largest = 0;
    for (Map.Entry<Integer, Integer> extent : model.entrySet()) {
      largest = Math.max(largest, extent.getKey() - end);
      end = extent.getKey() + extent.getValue();
    }
    return Math.max(largest, limit - end);
  }

  @Property(tries = 100)
  void largestFreeIsWhatIsGranted(@ForAll long seed) {
    Random random = new Random(seed);
    ExtentAllocator extents = new ExtentAllocator();
    extents.grow(5_000);
    List<Integer> held = new ArrayList<>();
    for (int first = 0; first != ExtentAllocator.NONE; first = extents.allocate(1 + random.nextInt(60))) {
      held.add(first);
    }
    held.stream().skip(1).filter(first -> random.nextBoolean()).forEach(extents::free);
    int largest = extents.largestFree(5_000);
    assertThat(extents.allocate(largest + 1)).isEqualTo(ExtentAllocator.NONE);
    assertThat(extents.allocate(largest)).isNotEqualTo(ExtentAllocator.NONE);
  }

  @Property(tries = 1000)
  void classesAreOrderedAndNarrow(@ForAll @IntRange(min = 1) int units) {
    int own = ExtentAllocator.sizeClass(units);
    assertThat(own).isBetween(1, 27 * 32 - 1);
    if (units < Integer.MAX_VALUE) {
      assertThat(ExtentAllocator.sizeClass(units + 1)).isBetween(own, own + 1);
    }
    if (units < 1 << 30) {
      assertThat(ExtentAllocator.sizeClass(units + units / 32 + 1)).isGreaterThan(own);
    }
  }

  @Example
  void blocksOfOneSizeFillTheRangeAgainAndAgain() {
    ExtentAllocator extents = new ExtentAllocator();
    extents.grow(77 * 1000);
    Random random = new Random(7);
    int[] held = new int[1000];
    for (int i = 0; i < held.length; i++) {
      held[i] = extents.allocate(77);
    }
    for (int turn = 0; turn < 20_000; turn++) {
      int i = random.nextInt(held.length);
      extents.free(held[i]);
      held[i] = extents.allocate(77);
      assertThat(held[i]).isNotEqualTo(ExtentAllocator.NONE);
    }
    assertThat(extents.allocatedUnits()).isEqualTo(77_000);
  }

  @Example
  void freeTwice_isRefusedAndChangesNothing() {
    ExtentAllocator extents = new ExtentAllocator();
    extents.grow(100);
    int first = extents.allocate(10);
    extents.allocate(10);
    extents.free(first);
    assertThatThrownBy(() -> extents.free(first))
        .isInstanceOf(IllegalStateException.class).hasMessageContaining("unit 0");
    assertThatThrownBy(() -> extents.free(15))
        .isInstanceOf(IllegalStateException.class).hasMessageContaining("unit 15");
    assertThat(extents.allocatedUnits()).isEqualTo(10);
  }
}
