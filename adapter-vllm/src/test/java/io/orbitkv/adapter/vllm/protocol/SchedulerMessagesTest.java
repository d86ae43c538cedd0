package io.orbitkv.adapter.vllm.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.core.wire.Frames;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The committed bytes of every message of vllm-1, and what is made of other bytes. */
class SchedulerMessagesTest {

  private static final Path FILE = Path.of("src/test/resources/vllm-1.jsonl");

  @TempDir
  private Path folder;

  private Frames frames;
  private SocketChannel other;

  @BeforeEach
  void connect() throws IOException {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
    try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listening.bind(address);
      frames = new Frames(SocketChannel.open(address), Protocol.MAX_FRAME_BYTES);
      other = listening.accept();
    }
  }

  @AfterEach
  void disconnect() throws IOException {
    frames.close();
    other.close();
  }

  /** Returns a message's bytes, without the frame's length. */
  private byte[] bytes(Consumer<PackWriter> write) throws IOException {
    write.accept(frames.begin());
    frames.send();
    ByteBuffer length = ByteBuffer.allocate(Integer.BYTES);
    while (length.hasRemaining()) {
      other.read(length);
    }
    ByteBuffer message = ByteBuffer.allocate(length.getInt(0));
    while (message.hasRemaining()) {
      other.read(message);
    }
    return message.array();
  }

  private byte[] bytes(SchedulerRequest request) throws IOException {
    return bytes(out -> SchedulerRequestCodec.write(request, out));
  }

  private byte[] bytes(SchedulerReply reply) throws IOException {
    return bytes(out -> SchedulerReplyCodec.write(reply, out));
  }

  private List<byte[]> allMessages() throws IOException {
    List<byte[]> messages = new ArrayList<>();
    for (SchedulerRequest request : SchedulerVectors.REQUESTS) {
      messages.add(bytes(request));
    }
    for (SchedulerReply reply : SchedulerVectors.REPLIES) {
      messages.add(bytes(reply));
    }
    return messages;
  }

  private static SchedulerRequest readRequest(byte[] message) throws MalformedException {
    return SchedulerRequestCodec.read(new PackReader(ByteBuffer.wrap(message)));
  }

  private static SchedulerReply readReply(byte[] message) throws MalformedException {
    return SchedulerReplyCodec.read(new PackReader(ByteBuffer.wrap(message)));
  }

  @Test
  void everyMessageIsWrittenAsCommitted() throws IOException {
    List<String> lines = new ArrayList<>();
    for (SchedulerRequest request : SchedulerVectors.REQUESTS) {
      lines.add(line("request", request, bytes(request)));
    }
    for (SchedulerReply reply : SchedulerVectors.REPLIES) {
      lines.add(line("reply", reply, bytes(reply)));
    }
    assertThat(lines).containsExactlyElementsOf(Files.readAllLines(FILE));
  }

  private static String line(String side, Object message, byte[] bytes) {
    return "{\"side\": \"" + side + "\", \"message\": \"" + message.getClass().getSimpleName() + "\", \"fields\": "
        + SchedulerVectors.json(message) + ", \"hex\": \"" + HexFormat.of().formatHex(bytes) + "\"}";
  }

  @Test
  void everyMessageIsReadAsItWasWritten() throws IOException {
    for (SchedulerRequest request : SchedulerVectors.REQUESTS) {
      assertThat(SchedulerVectors.json(readRequest(bytes(request)))).isEqualTo(SchedulerVectors.json(request));
    }
    for (SchedulerReply reply : SchedulerVectors.REPLIES) {
      assertThat(SchedulerVectors.json(readReply(bytes(reply)))).isEqualTo(SchedulerVectors.json(reply));
    }
  }

  @Test
  void everyKindOfMessageHasAVector() {
    Set<Class<?>> kinds = new HashSet<>();
    SchedulerVectors.REQUESTS.forEach(request -> kinds.add(request.getClass()));
    SchedulerVectors.REPLIES.forEach(reply -> kinds.add(reply.getClass()));
    assertThat(Stream.of(SchedulerRequest.class, SchedulerReply.class)
        .flatMap(side -> Stream.of(side.getPermittedSubclasses())))
        .allSatisfy(kind -> assertThat(kinds).contains(kind));
  }

  @Test
  void messageThatBreaksOff_isMalformed() throws IOException {
    for (byte[] message : allMessages()) {
      for (int length = 0; length < message.length; length++) {
        byte[] part = Arrays.copyOf(message, length);
        assertThatThrownBy(() -> readRequest(part)).isInstanceOf(MalformedException.class);
        assertThatThrownBy(() -> readReply(part)).isInstanceOf(MalformedException.class);
      }
    }
  }

  @Test
  void damagedMessage_isAMessageOrMalformed() throws IOException {
    Random random = new Random(1);
    for (byte[] message : allMessages()) {
      for (int i = 0; i < 3000; i++) {
        byte[] damaged = message.clone();
        for (int changes = random.nextInt(1, 4); changes > 0; changes--) {
          damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
        }
        try {
          assertThat(readRequest(damaged)).isNotNull();
        } catch (MalformedException e) {
          assertThat(e).hasMessageMatching("(?s).{5,}");
        }
        try {
          assertThat(readReply(damaged)).isNotNull();
        } catch (MalformedException e) {
          assertThat(e).hasMessageMatching("(?s).{5,}");
        }
      }
    }
  }

  @Test
  void assertedDigestOfAnotherLength_isMalformed() {
    byte[] identify = HexFormat.of().parseHex("9502a16dc440" + "00".repeat(64) + "9090");
    assertThatThrownBy(() -> readRequest(identify)).isInstanceOf(MalformedException.class)
        .hasMessage("Identify.assertedDigest: expected 32 bytes or none, found 64");
  }

  @Test
  void arrayThatStatesMoreThanTheFrameHas_isMalformedBeforeMemoryIsTaken() {
    byte[] step = HexFormat.of().parseHex("9805dd7fffffff");
    assertThatThrownBy(() -> readRequest(step)).isInstanceOf(MalformedException.class)
        .hasMessageStartingWith("Step.allocated: expected 2147483647 bytes");
  }

  @Test
  void counterNamedTwice_isMalformed() {
    byte[] counted = HexFormat.of().parseHex("920982a16101a16102");
    assertThatThrownBy(() -> readReply(counted)).isInstanceOf(MalformedException.class)
        .hasMessageContaining("each name once");
  }

  @Test
  void longMessageOfARefusal_isCut() throws IOException {
    SchedulerReply read = readReply(bytes(new SchedulerReply.Refused(Reply.Refusal.REFUSED, "\u20ac".repeat(2000))));
    assertThat(read).isEqualTo(new SchedulerReply.Refused(Reply.Refusal.REFUSED, "\u20ac".repeat(300) + "..."));
  }
}
