package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Frames of a peer that need not wait for its turn. */
@Timeout(60)
class FramesTest {

  private static final int MAX_BYTES = 1 << 20;

  @TempDir
  private Path folder;

  private SocketChannel peer;
  private SocketChannel accepted;

  @BeforeEach
  void connect() throws IOException {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      peer = SocketChannel.open(address);
      accepted = server.accept();
    }
  }

  @AfterEach
  void close() throws IOException {
    peer.close();
    accepted.close();
  }

  /** Returns frames, each with a message of so many flags. */
  private static ByteBuffer frames(int... sizes) {
    ByteBuffer frames = ByteBuffer.allocate(MAX_BYTES);
    for (int size : sizes) {
      // MessagePack has its bytes in one form up to 255, and in another up to 65,535.
      if (size < 256) {
        frames.putInt(2 + size).put((byte) 0xc4).put((byte) size);
      } else {
        frames.putInt(3 + size).put((byte) 0xc5).putShort((short) size);
      }
      frames.put(new byte[size]);
    }
    return frames.flip();
  }

  private static int size(PackReader message) throws MalformedException {
    return message.flags("value").length;
  }

  @Test
  void framesThatAreSentAhead_areReceivedOneByOneAndAnsweredInBetween() throws IOException {
    Frames frames = new Frames(accepted, MAX_BYTES, true);
    peer.write(frames(0, 3, 40_000));
    assertThat(size(frames.receive())).isZero();
    frames.begin().int64(7);
    frames.send();
    assertThat(peer.read(ByteBuffer.allocate(64))).isEqualTo(5);
    assertThat(size(frames.receive())).isEqualTo(3);
    assertThat(size(frames.receive())).isEqualTo(40_000);
    peer.close();
    assertThatThrownBy(frames::receive).isInstanceOf(EOFException.class);
  }

  @Test
  void framesThatTheBufferHasToGrowFor_keepTheirPlaces() throws IOException {
    Frames frames = new Frames(accepted, MAX_BYTES, true);
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> {
      ByteBuffer bytes = frames(65_535, 1, 65_535, 2);
      try {
        while (bytes.hasRemaining()) {
          peer.write(bytes);
        }
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    });
    assertThat(size(frames.receive())).isEqualTo(65_535);
    assertThat(size(frames.receive())).isEqualTo(1);
    assertThat(size(frames.receive())).isEqualTo(65_535);
    assertThat(size(frames.receive())).isEqualTo(2);
    sent.join();
  }

  @Test
  void aPeerThatHasToWait_doesNotSendAhead() throws IOException {
    Frames frames = new Frames(accepted, MAX_BYTES);
    peer.write(frames(0, 3));
    assertThatThrownBy(frames::receive)
        .isInstanceOf(MalformedException.class)
        .hasMessage("frame: 9 bytes behind it, before it was answered");
  }
}
