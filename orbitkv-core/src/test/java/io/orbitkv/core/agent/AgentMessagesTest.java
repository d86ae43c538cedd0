package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.wire.Frames;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
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

/** The committed bytes of every message of the agent's protocol, and what is made of other bytes. */
class AgentMessagesTest {

  private static final Path FILE = Path.of("src/test/resources/agent-2.jsonl");

  @TempDir
  private Path folder;

  private Frames frames;
  private SocketChannel other;

  @BeforeEach
  void connect() throws IOException {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
    try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listening.bind(address);
      frames = new Frames(SocketChannel.open(address), AgentProtocol.MAX_FRAME_BYTES);
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

  private byte[] bytes(AgentRequest request) throws IOException {
    return bytes(out -> AgentRequestCodec.write(request, out));
  }

  private byte[] bytes(AgentReply reply) throws IOException {
    return bytes(out -> AgentReplyCodec.write(reply, out));
  }

  @Test
  void everyMessageIsWrittenAsCommitted() throws IOException {
    List<String> lines = new ArrayList<>();
    for (AgentRequest request : AgentVectors.REQUESTS) {
      lines.add(line("request", request, bytes(request)));
    }
    for (AgentReply reply : AgentVectors.REPLIES) {
      lines.add(line("reply", reply, bytes(reply)));
    }
    assertThat(lines).containsExactlyElementsOf(Files.readAllLines(FILE));
  }

  private static String line(String side, Object message, byte[] bytes) {
    return "{\"side\": \"" + side + "\", \"message\": \"" + message.getClass().getSimpleName() + "\", \"fields\": "
        + AgentVectors.json(message) + ", \"hex\": \"" + HexFormat.of().formatHex(bytes) + "\"}";
  }

  @Test
  void everyMessageIsReadAsItWasWritten() throws IOException {
    for (AgentRequest request : AgentVectors.REQUESTS) {
      AgentRequest read = AgentRequestCodec.read(new PackReader(ByteBuffer.wrap(bytes(request))));
      assertThat(AgentVectors.json(read)).isEqualTo(AgentVectors.json(request));
    }
    for (AgentReply reply : AgentVectors.REPLIES) {
      AgentReply read = AgentReplyCodec.read(new PackReader(ByteBuffer.wrap(bytes(reply))));
      assertThat(AgentVectors.json(read)).isEqualTo(AgentVectors.json(reply));
    }
  }

  @Test
  void everyKindOfMessageHasAVector() {
    Set<Class<?>> kinds = new HashSet<>();
    AgentVectors.REQUESTS.forEach(request -> kinds.add(request.getClass()));
    AgentVectors.REPLIES.forEach(reply -> kinds.add(reply.getClass()));
    assertThat(Stream.of(AgentRequest.class, AgentReply.class)
        .flatMap(side -> Stream.of(side.getPermittedSubclasses())))
        .allSatisfy(kind -> assertThat(kinds).contains(kind));
  }

  @Test
  void brokenOffAndDamagedMessages_areMessagesRefusedOrMalformed() throws IOException {
    Random random = new Random(1);
    List<byte[]> messages = new ArrayList<>();
    for (AgentRequest request : AgentVectors.REQUESTS) {
      messages.add(bytes(request));
    }
    for (AgentReply reply : AgentVectors.REPLIES) {
      messages.add(bytes(reply));
    }
    for (byte[] message : messages) {
      for (int length = 0; length < message.length; length++) {
        byte[] part = Arrays.copyOf(message, length);
        assertThatThrownBy(() -> AgentRequestCodec.read(new PackReader(ByteBuffer.wrap(part))))
            .isInstanceOf(MalformedException.class);
        assertThatThrownBy(() -> AgentReplyCodec.read(new PackReader(ByteBuffer.wrap(part))))
            .isInstanceOf(MalformedException.class);
      }
      for (int i = 0; i < 2000; i++) {
        byte[] damaged = message.clone();
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
        readAnyway(damaged);
      }
    }
  }

  private static void readAnyway(byte[] message) {
    try {
      assertThat(AgentRequestCodec.read(new PackReader(ByteBuffer.wrap(message)))).isNotNull();
    } catch (MalformedException | RefusedException e) {
      assertThat(e).hasMessageMatching("(?s).{5,}");
    }
    try {
      assertThat(AgentReplyCodec.read(new PackReader(ByteBuffer.wrap(message)))).isNotNull();
    } catch (MalformedException e) {
      assertThat(e).hasMessageMatching("(?s).{5,}");
    }
  }

  @Test
  void columnsOfDifferentLengths_areMalformed() throws IOException {
    byte[] finished = bytes(new AgentReply.Finished(new long[2], new boolean[2], new int[1]));
    assertThatThrownBy(() -> AgentReplyCodec.read(new PackReader(ByteBuffer.wrap(finished))))
        .isInstanceOf(MalformedException.class).hasMessageContaining("2 transfers, 2 loads and 1 blocks");
  }

  @Test
  void pagesThatOverlap_areRefusedByTheirRule() throws IOException {
    byte[] open = bytes(new AgentRequest.Open("a", 0, Digest.ZERO, 0, 1, true, 0,
        PoolLayout.of(new PageLayout(2, 2, 64, 128, 64)), "/p"));
    String hex = HexFormat.of().formatHex(open);
    // The page stride, the last of the layout's numbers, is one byte too short.
    byte[] overlapping = HexFormat.of().parseHex(hex.replace("0000000000000040a22f70", "000000000000003fa22f70"));
    assertThat(overlapping).isNotEqualTo(open);
    assertThatThrownBy(() -> AgentRequestCodec.read(new PackReader(ByteBuffer.wrap(overlapping))))
        .isInstanceOf(RefusedException.class).hasMessageContaining("page stride 63");
  }
}
