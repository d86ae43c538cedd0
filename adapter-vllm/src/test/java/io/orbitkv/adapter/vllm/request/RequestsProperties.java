package io.orbitkv.adapter.vllm.request;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.adapter.vllm.protocol.SchedulerReply;
import io.orbitkv.adapter.vllm.protocol.SchedulerRequest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

/** Whatever the engine does, and in whatever order. */
class RequestsProperties {

  @Provide
  Arbitrary<List<Integer>> choices() {
    return Arbitraries.integers().between(0, 16 * 500).list().ofMaxSize(400);
  }

  @Property(tries = 250)
  void everyOrderIsRight_andNothingIsLeftInTheEnd(@ForAll("choices") List<Integer> choices) {
    SimulatedEngine engine = new SimulatedEngine(new Scheduler());
    choices.forEach(engine::act);
    engine.end();
  }

  @Property(tries = 80)
  void boundsThatAreMet_costNothingButHits(@ForAll("choices") List<Integer> choices) {
    SimulatedEngine engine =
        new SimulatedEngine(new Scheduler(Scheduler.DEFER_NANOS, true, new RequestLimits(4, 40, 2, 3, 2)));
    choices.forEach(engine::act);
    engine.end();
  }

  @Property(tries = 200)
  void whateverRoomThereIs_everyBlockIsSavedOnceAndInOrder(
      @ForAll @IntRange(min = 1, max = 30) int blocks, @ForAll long seed) {
    Random random = new Random(seed);
    Scheduler scheduler = new Scheduler(0, true, new RequestLimits(4, 40, 2, 1 + random.nextInt(4), 5));
    scheduler.allocate("a", 0, IntStream.range(0, blocks).toArray());
    List<SchedulerReply.Save> underWay = new ArrayList<>();
    List<Integer> saved = new ArrayList<>();
    for (int steps = 0, computed = 0; saved.size() < blocks; steps++) {
      assertThat(steps).as("steps that save nothing more").isLessThan(1000);
      Scheduler.Step step = scheduler.new Step();
      Collections.shuffle(underWay, random);
      for (int ends = random.nextInt(underWay.size() + 1); ends > 0; ends--) {
        SchedulerReply.Save save = underWay.removeLast();
        step.savesEnded.add(new SchedulerRequest.SaveEnded(save.save(), save.pages().length));
      }
      int before = computed;
      computed = Math.min(blocks * Scheduler.BLOCK_TOKENS, computed + random.nextInt(20));
      if (computed > before) {
        PrefixChain hashes = before == 0 ? Scheduler.chain(1, blocks) : Scheduler.NO_HASHES;
        step.advance("a", computed, before == 0 ? 0 : blocks, hashes, blocks);
      }
      int room = random.nextInt(7);
      List<SchedulerReply.Save> ordered = step.room(room).plan().saves();
      assertThat(ordered.stream().mapToInt(save -> save.pages().length).sum()).isLessThanOrEqualTo(room);
      ordered.forEach(save -> IntStream.of(save.pages()).forEach(saved::add));
      underWay.addAll(ordered);
      assertThat(saved.size() * Scheduler.BLOCK_TOKENS).isLessThanOrEqualTo(computed);
    }
    assertThat(saved).containsExactlyElementsOf(IntStream.range(0, blocks).boxed().toList());
    assertThat(scheduler.new Step().plan().saves()).isEmpty();
  }

  /** A simulation that never loads would find nothing wrong with loads. */
  @Example
  void simulationComesToEverything() {
    Random random = new Random(1);
    Map<String, Long> counts = new TreeMap<>();
    int[] transfers = new int[3];
    for (int run = 0; run < 100; run++) {
      Scheduler scheduler = new Scheduler(Scheduler.DEFER_NANOS, true, new RequestLimits(4, 25, 2, 3, 2));
      SimulatedEngine engine = new SimulatedEngine(scheduler);
      random.ints(400, 0, 16 * 500).forEach(engine::act);
      engine.end();
      Arrays.setAll(transfers, i -> transfers[i] + engine.transfers[i]);
      scheduler.requests.counters().forEach((name, count) -> counts.merge(name, count, Long::sum));
    }
    assertThat(counts).containsKeys("missed_not_stored", "missed_deferred_too_long");
    counts.keySet().removeIf(name -> name.equals("requests") || name.endsWith("_under_way"));
    assertThat(counts).allSatisfy((name, count) -> assertThat(count).as(name).isGreaterThan(10));
    assertThat(transfers).satisfies(ends -> assertThat(Arrays.stream(ends).min().orElse(0)).isGreaterThan(10));
  }

  /** No engine says this. It gets no exception, and leaves nothing behind either. */
  @Property(tries = 200)
  void nonsense_isRefusedOrIgnored(@ForAll long seed) {
    Random random = new Random(seed);
    Scheduler scheduler = new Scheduler(random.nextInt(3), true, new RequestLimits(4, 40, 2, 3, 2));
    for (int i = 0; i < 200; i++) {
      scheduler.cache.inMemory = random.nextInt(4);
      scheduler.cache.onSsd = random.nextInt(3);
      scheduler.cache.hangs = random.nextInt(4) == 0;
      scheduler.now.addAndGet(random.nextInt(2) * Inquiry.MISS_NANOS);
      switch (random.nextInt(8)) {
        case 0 -> scheduler.requests.reset();
        case 1, 2, 3 -> {
          try {
            scheduler.requests.matched(new SchedulerRequest.Lookup(id(random), 4 * number(random), number(random) * 4,
                number(random), hashes(random)));
          } catch (RefusedException e) {
            assertThat(e).hasMessageContaining("computed tokens");
          }
        }
        default -> scheduler.requests.plan(new SchedulerRequest.Step(
            List.of(new SchedulerRequest.Allocated(id(random), 4 * number(random), pages(random))),
            List.of(new SchedulerRequest.Advanced(id(random), number(random) * 4, number(random), hashes(random),
                number(random), pages(random))),
            List.of(id(random)), random.nextBoolean() ? List.of(id(random)) : List.of(),
            List.of(new SchedulerRequest.SaveEnded(random.nextLong(), number(random))),
            List.of(new SchedulerRequest.LoadEnded(id(random), random.nextBoolean())), number(random)));
      }
    }
    scheduler.requests.close();
    assertThat(scheduler.cache.heldNow()).isZero();
    assertThat(scheduler.cache.underWay()).isZero();
  }

  private static String id(Random random) {
    return "r" + random.nextInt(5);
  }

  private static int number(Random random) {
    return random.nextInt(20) == 0 ? random.nextInt() : random.nextInt(-1, 6);
  }

  private static PrefixChain hashes(Random random) {
    return Scheduler.part(random.nextInt(2), 0, random.nextInt(5));
  }

  private static int[] pages(Random random) {
    return IntStream.range(0, random.nextInt(6)).toArray();
  }
}
