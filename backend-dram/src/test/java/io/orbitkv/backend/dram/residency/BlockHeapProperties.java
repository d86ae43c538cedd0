package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.Random;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class BlockHeapProperties {

  @Property(tries = 200)
  void firstIsTheLeastOfASortedSet(@ForAll long seed, @ForAll boolean highestFirst) {
    Random random = new Random(seed);
    LongColumn keys = new LongColumn();
    int blocks = 1 + random.nextInt(200);
    for (int block = 0; block < blocks; block++) {
      keys.set(block, random.nextInt(30) - 15);
    }
    Comparator<Integer> byKey = Comparator.comparing(keys::get);
    TreeSet<Integer> model =
        new TreeSet<>((highestFirst ? byKey.reversed() : byKey).thenComparing(Comparator.naturalOrder()));
    BlockHeap heap = new BlockHeap(keys, new IntColumn(), highestFirst);
    for (int step = 0; step < 500; step++) {
      int block = random.nextInt(blocks);
      if (model.contains(block)) {
        model.remove(block);
        heap.remove(block);
      } else {
        keys.set(block, random.nextInt(30) - 15);
        model.add(block);
        heap.add(block);
      }
      assertThat(heap.first()).isEqualTo(model.isEmpty() ? BlockHeap.NONE : model.first());
    }
  }
}
