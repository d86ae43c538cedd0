package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.io.EOFException;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Both ends of a connection over a real Unix socket. */
@Timeout(60)
class ConnectionTest {

  private static final int MAX_FRAME_BYTES = 4 << 20;
  private static final Duration SOON = Duration.ofMillis(20);
  private static final Duration LONG = Duration.ofSeconds(50);

  @TempDir
  Path folder;

  private SocketChannel peer;
  private Connection connection;

  @BeforeEach
  void connect() throws IOException {
    connect(MAX_FRAME_BYTES);
  }

  private void connect(int maxFrameBytes) throws IOException {
    Path socket = folder.resolve("socket");
    Files.deleteIfExists(socket);
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(socket);
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      peer = SocketChannel.open(address);
      connection = new Connection(server.accept(), maxFrameBytes);
    }
  }

  @AfterEach
  void close() throws IOException {
    peer.close();
    connection.close();
  }

  @Test
  void requestAndReplyArrive() throws IOException {
    Connection member = new Connection(peer, MAX_FRAME_BYTES);
    member.send(new Request.Query(1, 2, 3, chain(2_000)));
    assertThat(connection.receiveRequest()).isEqualTo(new Request.Query(1, 2, 3, chain(2_000)));
    connection.send(new Reply.Committed(7));
    assertThat(member.receiveReply()).isEqualTo(new Reply.Committed(7));
  }

  @Test
  void chainOfAQuery_isGoodUntilSomethingIsSent_andOtherChainsForEver() throws IOException {
    Connection member = new Connection(peer, MAX_FRAME_BYTES);
    PrefixChain chain = chain(2);
    member.send(new Request.Query(1, 2, 3, chain));
    Request.Query query = (Request.Query) connection.receiveRequest();
    assertThat(query.chain()).isEqualTo(chain);
    connection.send(new Reply.Registered(1, 2, "w".repeat(64), 0));
    assertThat(query.chain()).as("it was not copied").isNotEqualTo(chain);
    assertThat(member.receiveReply()).isInstanceOf(Reply.Registered.class);

    member.send(new Request.Reserve(1, 0, chain, 0, 2));
    Request.Reserve reserve = (Request.Reserve) connection.receiveRequest();
    connection.send(new Reply.Registered(1, 2, "w".repeat(64), 0));
    assertThat(reserve.chain()).isEqualTo(chain);
  }

  @Test
  void frameLargerThanAnySocketBuffer_arrives() {
    Connection member = new Connection(peer, MAX_FRAME_BYTES);
    Request query = new Request.Query(1, 2, 3, chain(100_000));
    CompletableFuture<Void> served = CompletableFuture.runAsync(() -> {
      try {
        connection.send(new Reply.Committed(connection.receiveRequest().equals(query) ? 1 : 0));
      } catch (IOException e) {
        throw new CompletionException(e);
      }
    });
    assertThat(call(member, query)).isEqualTo(new Reply.Committed(1));
    served.join();
  }

  @Test
  void frameInSingleBytes_isReadWhole() throws IOException {
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> {
      for (byte single : HexFormat.of().parseHex("00000003920805")) {
        write(ByteBuffer.wrap(new byte[] {single}));
      }
    });
    assertThat(connection.receiveRequest()).isEqualTo(new Request.Enqueued(5));
    sent.join();
  }

  @Test
  void endBetweenFrames_isAnEnd() throws IOException {
    peer.close();
    assertThatThrownBy(() -> connection.receiveRequest()).isInstanceOf(EOFException.class);
  }

  @Test
  void endWithinAFrame_isMalformed() throws IOException {
    write("0000000392");
    peer.close();
    assertThatThrownBy(() -> connection.receiveRequest())
        .isInstanceOf(MalformedException.class)
        .hasMessage("frame: expected 7 bytes, found its end after 5");
  }

  @Test
  void frameOverTheBound_isRefusedByItsLengthAlone() {
    write("00400001");
    assertThatThrownBy(() -> connection.receiveRequest())
        .isInstanceOf(MalformedException.class)
        .hasMessage("frame: expected 1 to 4194304 bytes, found 4194305");
  }

  @Test
  void lengthAlone_takesNoMemory() throws IOException {
    close();
    connect(1 << 30);
    long before = directBytes();
    write("3fffffff00");
    peer.close();
    assertThatThrownBy(() -> connection.receiveRequest()).isInstanceOf(MalformedException.class);
    assertThat(directBytes() - before).isLessThan(1 << 29);
  }

  @Test
  void frameWithoutAMessage_isMalformed() {
    write("00000000");
    assertThatThrownBy(() -> connection.receiveRequest())
        .isInstanceOf(MalformedException.class)
        .hasMessage("frame: expected 1 to 4194304 bytes, found 0");
  }

  @Test
  void secondRequestBeforeTheReply_isMalformed() {
    write("0000000392080500000003920805");
    assertThatThrownBy(() -> connection.receiveRequest())
        .isInstanceOf(MalformedException.class)
        .hasMessage("frame: 7 bytes behind it, before it was answered");
  }

  @Test
  void messageOverTheBound_isNotSent() throws IOException {
    assertThatThrownBy(() -> connection.send(new Request.Query(1, 2, 3, chain(200_000))))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("expected at most 4194308");
    connection.send(new Reply.Done());
    assertThat(new Connection(peer, MAX_FRAME_BYTES).receiveReply()).isEqualTo(new Reply.Done());
  }

  @Test
  void replyThatDoesNotCome_endsTheConnection() {
    assertThatThrownBy(() -> connection.receiveReply(SOON)).isInstanceOf(SocketTimeoutException.class);
    assertThatThrownBy(() -> connection.receiveReply(SOON)).isInstanceOf(IOException.class);
  }

  @Test
  void replyThatStopsHalfway_endsTheConnection() {
    write("0000000392");
    assertThatThrownBy(() -> connection.receiveReply(SOON)).isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void requestThatNobodyReads_endsTheConnection() {
    assertThatThrownBy(() -> connection.call(new Request.Query(1, 2, 3, chain(100_000)), SOON))
        .isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void callsWithAndWithoutALimit_mix() throws IOException {
    write("000000029109");
    assertThat(connection.receiveReply(LONG)).isEqualTo(new Reply.Done());
    CompletableFuture<Reply> waiting = CompletableFuture.supplyAsync(() -> {
      try {
        return connection.receiveReply();
      } catch (IOException e) {
        throw new CompletionException(e);
      }
    });
    write("000000029109");
    assertThat(waiting.join()).isEqualTo(new Reply.Done());
  }

  @Test
  void closeEndsACallUnderWay() throws Exception {
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    Thread waiting = Thread.ofPlatform().start(() -> {
      try {
        connection.receiveReply(LONG);
      } catch (IOException e) {
        ended.complete(e);
      }
    });
    while (waiting.getState() != Thread.State.RUNNABLE && waiting.isAlive()) {
      Thread.onSpinWait();
    }
    connection.close();
    assertThat(ended.join()).isInstanceOf(ClosedChannelException.class);
  }

  @Test
  void interruptEndsACallUnderWay() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> connection.receiveReply(LONG)).isInstanceOf(ClosedByInterruptException.class);
    assertThat(Thread.interrupted()).isTrue();
  }

  private static long directBytes() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getMemoryUsed)
        .sum();
  }

  private static PrefixChain chain(int blocks) {
    return PrefixChain.ofTokens(IntStream.range(0, blocks).toArray(), 1);
  }

  private static Reply call(Connection member, Request request) {
    try {
      return member.call(request, LONG);
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  private void write(String hex) {
    write(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
  }

  private void write(ByteBuffer bytes) {
    try {
      peer.write(bytes);
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }
}
