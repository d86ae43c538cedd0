package io.orbitkv.core.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CoreLoopTest {

  private static final Duration NEVER = Duration.ofDays(1);

  private final List<CoreLoop> loops = new ArrayList<>();

  @AfterEach
  void close() {
    loops.forEach(CoreLoop::close);
  }

  private CoreLoop start(Runnable tick, Duration every) {
    CoreLoop loop = new CoreLoop(tick, every.toNanos());
    loops.add(loop);
    loop.start();
    return loop;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).as("came within a minute").isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
  }

  /** Runs an action on some threads at once and waits for them. */
  private static void onThreads(int count, IntConsumer action) throws InterruptedException {
    CountDownLatch go = new CountDownLatch(1);
    List<Thread> threads = IntStream.range(0, count).mapToObj(i -> Thread.ofPlatform().daemon().start(() -> {
      await(go);
      action.accept(i);
    })).toList();
    go.countDown();
    for (Thread thread : threads) {
      thread.join(Duration.ofMinutes(1));
      assertThat(thread.isAlive()).isFalse();
    }
  }

  @Test
  void turnsEventsAndTicksExcludeOneAnother() throws InterruptedException {
    int[] inside = {0};
    int[] overlaps = {0};
    Runnable visit = () -> {
      overlaps[0] += inside[0];
      inside[0]++;
      Thread.onSpinWait();
      inside[0]--;
    };
    int threads = 6;
    int rounds = 2_000;
    CoreLoop loop = start(visit, Duration.ofNanos(1));
    CountDownLatch posted = new CountDownLatch(threads * rounds);
    onThreads(threads, thread -> {
      for (int i = 0; i < rounds; i++) {
        loop.run(visit);
        loop.post(() -> {
          visit.run();
          posted.countDown();
        });
      }
    });
    await(posted);
    loop.run(() -> assertThat(overlaps[0]).isZero());
  }

  @Test
  void noUpdateIsLost_whenManyThreadsTakeTurns() throws InterruptedException {
    int[] count = {0};
    int threads = 8;
    int rounds = 5_000;
    CoreLoop loop = start(() -> { }, NEVER);
    CountDownLatch posted = new CountDownLatch(threads * rounds);
    onThreads(threads, thread -> {
      for (int i = 0; i < rounds; i++) {
        loop.run(() -> count[0]++);
        loop.post(() -> {
          count[0]++;
          posted.countDown();
        });
      }
    });
    await(posted);
    assertThat(loop.<Integer>call(() -> count[0])).isEqualTo(2 * threads * rounds);
  }

  @Test
  void postedEventsRunOnceEach_inTheOrderOfTheirPoster() throws InterruptedException {
    int posters = 4;
    int events = 5_000;
    CoreLoop loop = start(() -> { }, NEVER);
    List<List<Integer>> ran = IntStream.range(0, posters).<List<Integer>>mapToObj(i -> new ArrayList<>()).toList();
    CountDownLatch all = new CountDownLatch(posters * events);
    onThreads(posters, poster -> {
      for (int i = 0; i < events; i++) {
        int number = i;
        loop.post(() -> {
          ran.get(poster).add(number);
          all.countDown();
        });
      }
    });
    await(all);
    List<Integer> inOrder = IntStream.range(0, events).boxed().toList();
    loop.run(() -> assertThat(ran).allSatisfy(of -> assertThat(of).isEqualTo(inOrder)));
  }

  @Test
  void post_neverWaitsForTheTurn_andItsEventRunsWithoutATick() throws InterruptedException {
    CoreLoop loop = start(() -> { }, NEVER);
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch ran = new CountDownLatch(1);
    Thread holder = Thread.ofPlatform().daemon().start(() -> loop.run(() -> {
      held.countDown();
      await(release);
    }));
    await(held);
    loop.post(ran::countDown);
    assertThat(ran.getCount()).as("ran while the turn was another's").isOne();
    release.countDown();
    await(ran);
    holder.join(Duration.ofMinutes(1));
  }

  @Test
  void anEventPostedInsideATurn_runsAfterIt() {
    CoreLoop loop = start(() -> { }, NEVER);
    CountDownLatch all = new CountDownLatch(2);
    List<String> order = new ArrayList<>();
    loop.run(() -> {
      loop.post(() -> {
        order.add("posted");
        loop.post(() -> {
          order.add("posted by the posted");
          all.countDown();
        });
        order.add("end of the posted");
        all.countDown();
      });
      loop.run(() -> order.add("nested turn"));
      order.add("end of the turn");
    });
    await(all);
    loop.run(() -> assertThat(order)
        .containsExactly("nested turn", "end of the turn", "posted", "end of the posted", "posted by the posted"));
  }

  @Test
  void anEventThatThrows_stopsNoOther() {
    CoreLoop loop = start(() -> { }, NEVER);
    CountDownLatch ran = new CountDownLatch(1);
    loop.post(() -> {
      throw new IllegalStateException("planted");
    });
    loop.post(() -> {
      throw new AssertionError("planted");
    });
    loop.post(ran::countDown);
    await(ran);
    assertThat(loop.<String>call(() -> "served")).isEqualTo("served");
  }

  @Test
  void aTickThatThrows_isFollowedByOthers() {
    CountDownLatch ticks = new CountDownLatch(3);
    start(() -> {
      ticks.countDown();
      if (ticks.getCount() == 2) {
        throw new AssertionError("planted");
      }
      throw new IllegalStateException("planted");
    }, Duration.ofMillis(1));
    await(ticks);
  }

  @Test
  void aTurnThatThrows_tellsItsCallerAndEnds() throws InterruptedException {
    CoreLoop loop = start(() -> { }, NEVER);
    assertThatThrownBy(() -> loop.run(() -> {
      throw new IllegalStateException("planted");
    })).hasMessage("planted");
    assertThatThrownBy(() -> loop.call(() -> {
      throw new IllegalStateException("planted too");
    })).hasMessage("planted too");
    onThreads(1, thread -> loop.run(() -> { }));
  }

  @Test
  void ticksComeWhileNobodyCalls() {
    CountDownLatch ticks = new CountDownLatch(5);
    start(ticks::countDown, Duration.ofMillis(1));
    await(ticks);
  }

  @Test
  void ticksComeWhileEventsComeWithoutEnd() {
    CountDownLatch ticks = new CountDownLatch(3);
    CoreLoop loop = start(ticks::countDown, Duration.ofMillis(1));
    loop.post(new Runnable() {
      @Override
      public void run() {
        if (ticks.getCount() > 0) {
          loop.post(this);
        }
      }
    });
    await(ticks);
  }

  @Test
  void close_endsTheThread_andTurnsCanStillBeTaken() throws InterruptedException {
    AtomicReference<Thread> thread = new AtomicReference<>();
    CountDownLatch ticked = new CountDownLatch(1);
    CoreLoop loop = start(() -> {
      thread.set(Thread.currentThread());
      ticked.countDown();
    }, Duration.ofMillis(1));
    await(ticked);
    loop.close();
    assertThat(thread.get().join(Duration.ofMinutes(1))).as("the thread ended").isTrue();
    assertThat(loop.<String>call(() -> "served")).isEqualTo("served");
  }

  @Test
  void noTickBeginsAfterClose() throws InterruptedException {
    int[] ticks = {0};
    AtomicReference<Thread> thread = new AtomicReference<>();
    CountDownLatch ticked = new CountDownLatch(1);
    CoreLoop loop = start(() -> {
      ticks[0]++;
      thread.set(Thread.currentThread());
      ticked.countDown();
    }, Duration.ofNanos(1));
    await(ticked);
    int before = loop.call(() -> {
      // A tick is always due: the thread comes to wait for the turn.
      while (thread.get().getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
      loop.close();
      return ticks[0];
    });
    assertThat(thread.get().join(Duration.ofMinutes(1))).isTrue();
    assertThat(loop.<Integer>call(() -> ticks[0])).isEqualTo(before);
  }
}
