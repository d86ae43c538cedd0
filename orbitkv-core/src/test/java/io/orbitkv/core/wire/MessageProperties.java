package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Whatever arrives is a message or malformed: nothing else is thrown, and nothing makes it take more memory. */
class MessageProperties {

  /** An exception with its stack, the pieces of a text's decoder, a map. */
  private static final long FIXED_BYTES = 64 * 1024;

  /** A character in two bytes, a key with its node, and growing. */
  private static final long TIMES = 8;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Property(tries = 500)
  void requestsAreReadAsTheyWereWritten(@ForAll("requests") Request request) throws MalformedException {
    byte[] message = MessageBytes.of(request);
    assertThat(MessageText.of(MessageBytes.request(message))).isEqualTo(MessageText.of(request));
  }

  @Property(tries = 500)
  void repliesAreReadAsTheyWereWritten(@ForAll("replies") Reply reply) throws MalformedException {
    byte[] message = MessageBytes.of(reply);
    assertThat(MessageText.of(MessageBytes.reply(message))).isEqualTo(MessageText.of(reply));
  }

  @Property(tries = 1_000)
  void anyBytesAreAMessageOrMalformed(@ForAll @Size(max = 200) byte[] bytes) {
    read(bytes);
  }

  @Property(tries = 2_000)
  void messageWithSomeOtherBytes_isAMessageOrMalformed(
      @ForAll("encoded") byte[] message, @ForAll @IntRange(min = 1, max = 4) int places, @ForAll Random random) {
    for (int i = 0; i < places; i++) {
      message[random.nextInt(message.length)] = (byte) random.nextInt();
    }
    read(message);
  }

  @Example
  void messageBrokenOffAnywhere_isMalformed() {
    for (byte[] message : vectors()) {
      for (int length = 0; length < message.length; length++) {
        assertThat(read(Arrays.copyOf(message, length))).isZero();
      }
    }
  }

  @Example
  void messageWithOneOtherBit_isAMessageOrMalformed() {
    for (byte[] message : vectors()) {
      for (int bit = 0; bit < Byte.SIZE * message.length; bit++) {
        byte[] flipped = message.clone();
        flipped[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
        read(flipped);
      }
    }
  }

  @Example
  void messageWithMoreBehindIt_isMalformed() {
    for (byte[] message : vectors()) {
      assertThat(read(Arrays.copyOf(message, message.length + 1))).isZero();
    }
  }

  @Provide
  Arbitrary<Request> requests() {
    return Messages.requests();
  }

  @Provide
  Arbitrary<Reply> replies() {
    return Messages.replies();
  }

  @Provide
  Arbitrary<byte[]> encoded() {
    return Arbitraries.oneOf(
        Messages.requests().map(MessageBytes::of), Messages.replies().map(MessageBytes::of));
  }

  private static List<byte[]> vectors() {
    return Stream.concat(
        Vectors.REQUESTS.stream().map(MessageBytes::of), Vectors.REPLIES.stream().map(MessageBytes::of)).toList();
  }

  /** Reads bytes as either side and returns on how many of the two they are a message. */
  private int read(byte[] bytes) {
    long before = threads.getCurrentThreadAllocatedBytes();
    int messages = 0;
    try {
      MessageBytes.request(bytes);
      messages++;
    } catch (MalformedException e) {
      assertThat(e).hasMessageMatching("(?s).+: .+");
    }
    try {
      MessageBytes.reply(bytes);
      messages++;
    } catch (MalformedException e) {
      assertThat(e).hasMessageMatching("(?s).+: .+");
    }
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(FIXED_BYTES + TIMES * bytes.length);
    return messages;
  }
}
