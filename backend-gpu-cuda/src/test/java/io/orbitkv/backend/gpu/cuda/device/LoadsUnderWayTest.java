package io.orbitkv.backend.gpu.cuda.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoadsUnderWayTest {

  private static final Duration FOREVER = Duration.ofDays(1);

  private final LoadsUnderWay loads = new LoadsUnderWay();

  @Test
  void nobodyWaits_withoutLoads() {
    loads.giveWay(FOREVER);
    loads.begin();
    loads.end();
    loads.giveWay(FOREVER);
  }

  @Test
  void waitEnds_withTheLastLoad() throws Exception {
    loads.begin();
    loads.begin();
    CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> loads.giveWay(FOREVER));
    loads.end();
    assertThat(waiting).isNotDone();
    loads.end();
    waiting.get(30, TimeUnit.SECONDS);
  }

  @Test
  void waitEnds_whenItWasLongEnough() {
    loads.begin();
    long began = System.nanoTime();
    loads.giveWay(Duration.ofMillis(5));
    assertThat(System.nanoTime() - began).isGreaterThanOrEqualTo(5_000_000);
  }
}
