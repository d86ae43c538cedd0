package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.client.ManagerClient;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connecting to somebody who listens and does not accept, as a process that is stopped. */
@Timeout(60)
class UnixSocketTest {

  private static final Duration SHORT = Duration.ofMillis(100);
  private static final Duration LONG = Duration.ofSeconds(50);

  @TempDir
  private Path folder;

  private final List<SocketChannel> waiting = new ArrayList<>();
  private Path socket;
  private ServerSocketChannel server;

  @BeforeEach
  void listenAndFillTheBacklog() throws IOException {
    socket = folder.resolve("socket");
    server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    server.bind(UnixDomainSocketAddress.of(socket), 1);
    // The kernel takes one more than it was told.
    waiting.add(UnixSocket.connect(socket, LONG));
    waiting.add(UnixSocket.connect(socket, LONG));
  }

  @AfterEach
  void close() throws IOException {
    server.close();
    for (SocketChannel channel : waiting) {
      channel.close();
    }
  }

  @Test
  void aFullBacklog_isWaitedForNoLongerThanSaid() {
    assertThatThrownBy(() -> UnixSocket.connect(socket, SHORT)).isInstanceOf(SocketTimeoutException.class);
    assertThatThrownBy(() -> ManagerClient.open(socket, SHORT)).isInstanceOf(UnavailableException.class)
        .hasMessageContaining("no Manager answers at " + socket);
  }

  @Test
  void roomInTheBacklog_isTaken() throws IOException {
    CompletableFuture<SocketChannel> connected = CompletableFuture.supplyAsync(() -> {
      try {
        return UnixSocket.connect(socket, LONG);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    });
    server.accept().close();
    try (SocketChannel channel = connected.join()) {
      assertThat(channel.isConnected()).isTrue();
      assertThat(channel.isBlocking()).isTrue();
    }
  }

  @Test
  void nobody_isNotWaitedFor() throws IOException {
    server.close();
    assertThatThrownBy(() -> UnixSocket.connect(socket, LONG)).isInstanceOf(ConnectException.class);
    assertThatThrownBy(() -> UnixSocket.connect(folder.resolve("none"), LONG)).isInstanceOf(IOException.class)
        .isNotInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void anInterrupt_endsTheWait() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> UnixSocket.connect(socket, LONG)).isInstanceOf(IOException.class);
    assertThat(Thread.interrupted()).isTrue();
  }
}
