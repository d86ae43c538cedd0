package io.orbitkv.core.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import io.orbitkv.core.wire.UnixSocket;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** An engine worker that computes random pages, in a pool of two groups, and speaks to an agent over its socket. */
final class FakeEngine implements AutoCloseable {

  static final int PAGES = 16;
  static final Duration LIMIT = Duration.ofSeconds(20);
  static final Digest NAMESPACE = Digest.sha256(new byte[] {42});

  /** Three layers of 96 bytes, layer-major, and behind them two of 40, page-major. */
  static final PoolLayout LAYOUT = new PoolLayout(List.of(
      new PageLayout(0, 3, PAGES, 96, 96 * PAGES, 96),
      new PageLayout(3 * 96 * PAGES, 2, PAGES, 40, 40, 80)));

  private final Dialogue<AgentRequest, AgentReply> connection;
  private final Path file;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment pool;

  private FakeEngine(Dialogue<AgentRequest, AgentReply> connection, Path folder) throws IOException {
    this.connection = connection;
    this.file = Files.createTempFile(folder, "pool", "");
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      pool = channel.map(MapMode.READ_WRITE, 0, LAYOUT.poolBytes(), arena);
    }
  }

  /** Connects, and says nothing yet. */
  static FakeEngine connect(Agent agent, Path folder) throws IOException {
    return new FakeEngine(AgentProtocol.dialogue(UnixSocket.connect(agent.socket(), LIMIT)), folder);
  }

  /** Connects and opens. */
  static FakeEngine open(Agent agent, Path folder) throws IOException {
    FakeEngine engine = connect(agent, folder);
    assertThat(engine.hello()).isInstanceOf(AgentReply.Welcome.class);
    assertThat(engine.call(engine.opening(0, 1))).isInstanceOf(AgentReply.Opened.class);
    return engine;
  }

  AgentReply hello() throws IOException {
    return call(new AgentRequest.Hello(AgentProtocol.VERSION, "fake engine", Protocol.probe()));
  }

  AgentRequest.Open opening(int rank, int ranks) {
    return new AgentRequest.Open("fake", 7, NAMESPACE, rank, ranks, ranks == 1, 16, LAYOUT, file.toString());
  }

  AgentReply call(AgentRequest request) throws IOException {
    return call(request, LIMIT);
  }

  AgentReply call(AgentRequest request, Duration limit) throws IOException {
    return connection.call(request, limit);
  }

  <R extends AgentReply> R call(AgentRequest request, Class<R> expected) throws IOException {
    AgentReply reply = call(request);
    assertThat(reply).isInstanceOf(expected);
    return expected.cast(reply);
  }

  String refusal(AgentRequest request) throws IOException {
    return call(request, AgentReply.Refused.class).message();
  }

  /** A chain of its own for each seed. */
  static PrefixChain chain(int seed, int blocks) {
    return PrefixChain.ofTokens(IntStream.range(seed * 1000, seed * 1000 + blocks).toArray(), 1);
  }

  /** Some hashes of the {@link #chain} of a seed. */
  static PrefixChain part(int seed, int from, int to) {
    PrefixChain whole = chain(seed, to);
    return PrefixChain.of(IntStream.range(from, to).mapToObj(whole::hash).toList());
  }

  /** Computes pages. */
  void compute(long seed, int... pages) {
    Random random = new Random(seed);
    for (int page : pages) {
      forEachPiece(page, piece -> {
        byte[] bytes = new byte[(int) piece.byteSize()];
        random.nextBytes(bytes);
        piece.copyFrom(MemorySegment.ofArray(bytes));
      });
    }
  }

  /** Checks that pages hold what {@link #compute} put into others. */
  void verify(long seed, int... pages) {
    Random random = new Random(seed);
    for (int page : pages) {
      forEachPiece(page, piece -> {
        byte[] bytes = new byte[(int) piece.byteSize()];
        random.nextBytes(bytes);
        assertThat(piece.mismatch(MemorySegment.ofArray(bytes))).as("page " + page).isEqualTo(-1);
      });
    }
  }

  /** Returns what a page holds, in the order of a shard. */
  byte[] bytes(int page) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    forEachPiece(page, piece -> bytes.writeBytes(piece.toArray(ValueLayout.JAVA_BYTE)));
    return bytes.toByteArray();
  }

  private void forEachPiece(int page, Consumer<MemorySegment> action) {
    for (PageLayout group : LAYOUT.groups()) {
      for (int layer = 0; layer < group.layers(); layer++) {
        action.accept(pool.asSlice(group.offset(layer, page), group.pageBytes()));
      }
    }
  }

  AgentReply.Started save(PrefixChain chain, int first, int... pages) throws IOException {
    return call(new AgentRequest.Save(0, 0, chain, first, pages), AgentReply.Started.class);
  }

  AgentReply.Started save(long series, int known, PrefixChain more, int first, int... pages) throws IOException {
    return call(new AgentRequest.Save(series, known, more, first, pages), AgentReply.Started.class);
  }

  AgentReply.Started load(long lease, int first, int... pages) throws IOException {
    return call(new AgentRequest.Load(lease, first, pages, 0), AgentReply.Started.class);
  }

  /** Waits for the report of one transfer, which must be the next. Returns its blocks. */
  int report(AgentReply.Started started) throws IOException {
    AgentReply.Finished finished;
    do {
      finished = call(new AgentRequest.Progress(1000), AgentReply.Finished.class);
    } while (finished.transfers().length == 0);
    assertThat(finished.transfers()).containsExactly(started.transfer());
    return finished.blocks()[0];
  }

  /** Computes, saves and waits. */
  void store(PrefixChain chain, long seed, int... pages) throws IOException {
    compute(seed, pages);
    assertThat(report(save(chain, 0, pages))).isEqualTo(pages.length);
  }

  /** Asks for a chain that is stored in memory. Returns the lease. */
  long lease(long operation, PrefixChain chain) throws IOException {
    AgentReply.Answered answered = call(new AgentRequest.Query(operation, 0, chain), AgentReply.Answered.class);
    assertThat(answered.standing()).isEqualTo(Reply.Standing.HIT);
    return answered.lease();
  }

  /** Breaks the connection, as a process that is killed does. */
  @Override
  public void close() throws IOException {
    connection.close();
    arena.close();
  }
}
