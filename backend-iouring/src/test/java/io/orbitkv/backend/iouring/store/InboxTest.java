package io.orbitkv.backend.iouring.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One thread gives, another takes: nothing is lost, doubled or out of order. */
class InboxTest {

  private static final int REQUESTS = 200_000;

  @Test
  @Timeout(60)
  void keepsTheOrderBetweenTwoThreads() throws InterruptedException {
    Inbox inbox = new Inbox();
    Thread giver = Thread.ofPlatform().start(() -> {
      Random random = new Random(4);
      int token = 0;
      while (token < REQUESTS) {
        Request newest = null;
        Request oldest = null;
        for (int chain = 1 + random.nextInt(5); chain > 0 && token < REQUESTS; chain--) {
          Request request = new Seal(null, null, token++);
          request.following = newest;
          newest = request;
          oldest = oldest == null ? request : oldest;
        }
        inbox.push(newest, oldest);
      }
    });
    long expected = 0;
    while (expected < REQUESTS) {
      for (Request request = inbox.takeAll(); request != null; request = request.following) {
        assertThat(request.token).isEqualTo(expected++);
      }
      Thread.onSpinWait();
    }
    giver.join();
    assertThat(inbox.isEmpty()).isTrue();
  }
}
