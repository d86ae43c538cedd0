package io.orbitkv.cli.bench;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.Ticket;
import io.orbitkv.api.spi.MemoryPool;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.zip.CRC32C;

/**
 * An engine that asks a Manager for as much as it takes: its scheduler keeps as many queries under way as there may be,
 * most of them for blocks on the SSD, and each of its ranks saves and restores without a pause, over a connection each.
 */
public final class Flood {

  /** As many queries as one session may have. */
  private static final int QUERIES = 128;

  /** A chain that nobody knows is saved now and then, so that the SSD is written to as well. */
  private static final int NEW_CHAIN_EVERY = 8;

  private static final Duration WRITE_LIMIT = Duration.ofSeconds(60);

  private static final int SHARD_BYTES = MemoryPool.ALIGNMENT;

  private final Path manager;
  private final int ranks;
  private final int chainBlocks;
  private final List<PrefixChain> chains = new ArrayList<>();
  private final List<BlockingQueue<Long>> shares = new ArrayList<>();
  private final AtomicLong requests = new AtomicLong();

  /**
   * @param manager its socket
   * @param ranks ranks of the engine, each with a connection, beside that of the scheduler
   * @param chainBlocks blocks of a prompt
   * @param bytes of the prompts that it asks for; if they are more than the Manager's memory, they come from the SSD
   */
  public Flood(Path manager, int ranks, int chainBlocks, long bytes) {
    this.manager = manager;
    this.ranks = ranks;
    this.chainBlocks = chainBlocks;
    long chainBytes = (long) chainBlocks * ranks * SHARD_BYTES;
    for (int i = 0; i < Math.max(1, bytes / chainBytes); i++) {
      chains.add(chain(i));
    }
    for (int rank = 0; rank < ranks; rank++) {
      shares.add(new ArrayBlockingQueue<>(QUERIES));
    }
  }

  private PrefixChain chain(int which) {
    int[] tokens = new int[chainBlocks];
    Arrays.setAll(tokens, at -> at == 0 ? which : at);
    return PrefixChain.ofTokens(tokens, 1);
  }

  /**
   * Floods.
   *
   * @param told whether to end
   * @param ready called when what it asks for is on the SSD
   * @return how many requests were made
   * @throws InterruptedException if the thread was interrupted
   */
  public long run(BooleanSupplier told, Runnable ready) throws InterruptedException {
    long incarnation = Membership.newIncarnation();
    List<Thread> threads = new ArrayList<>();
    try (ManagerClient client = ManagerClient.open(manager)) {
      List<Session> sessions = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        sessions.add(client.attach(spec(), new Membership(incarnation, rank)));
      }
      store(client, sessions);
      ready.run();
      for (int rank = 0; rank < ranks; rank++) {
        int own = rank;
        threads.add(
            Thread.ofPlatform().name("rank " + rank).start(() -> move(sessions.get(own), own, told)));
      }
      ask(client.attach(spec(), new Membership(incarnation, Membership.SCHEDULER)), told);
      for (Thread thread : threads) {
        thread.join();
      }
    }
    return requests.get();
  }

  private SessionSpec spec() {
    return new SessionSpec("flood", Namespace.builder("orbitkv-flood", "1", Digest.ZERO).build(),
        new ShardLayout(ranks, SHARD_BYTES), 16);
  }

  /** Saves every chain, and has each written before the next could take its place in memory. */
  private void store(ManagerClient client, List<Session> sessions) throws InterruptedException {
    for (PrefixChain chain : chains) {
      for (int rank = 0; rank < ranks; rank++) {
        save(sessions.get(rank), rank, chain);
      }
      client.flush(WRITE_LIMIT);
    }
  }

  private void ask(Session session, BooleanSupplier told) {
    SplittableRandom random = new SplittableRandom(1);
    Queue<Ticket> waiting = new ArrayDeque<>();
    while (!told.getAsBoolean()) {
      boolean asks = waiting.isEmpty() || waiting.size() < QUERIES && random.nextBoolean();
      Ticket ticket = asks ? session.query(chains.get(random.nextInt(chains.size()))) : waiting.remove();
      requests.incrementAndGet();
      Answer answer = ticket.poll();
      if (answer instanceof Answer.Hit hit) {
        shares.forEach(queue -> queue.offer(hit.lease().id()));
      } else if (!answer.isFinal()) {
        waiting.add(ticket);
      }
    }
  }

  private void move(Session session, int rank, BooleanSupplier told) {
    for (int turn = 0; !told.getAsBoolean(); turn++) {
      try {
        save(session, rank, turn % NEW_CHAIN_EVERY == 0 ? chain(-1 - turn) : chains.get(turn % chains.size()));
        for (Long lease = shares.get(rank).poll(); lease != null; lease = shares.get(rank).poll()) {
          requests.incrementAndGet();
          restore(session, lease, rank);
        }
      } catch (OrbitKvException e) {
        // It goes as fast as the Manager takes it: what is refused is asked for again.
        requests.incrementAndGet();
      }
    }
  }

  private void save(Session session, int rank, PrefixChain chain) {
    requests.incrementAndGet();
    saveZeroes(session, rank, chain);
  }

  /** Saves blocks of nothing but zeroes. */
  static void saveZeroes(Session session, int rank, PrefixChain chain) {
    CRC32C crc = new CRC32C();
    crc.update(new byte[session.spec().layout().shardBytes()]);
    try (SaveGrant grant = session.reserve(rank, chain, 0, chain.blocks())) {
      if (grant.wanted() > 0) {
        for (int block = 0; block < chain.blocks(); block++) {
          if (grant.wants(block)) {
            grant.shard(block).fill((byte) 0);
            grant.copied(block, (int) crc.getValue());
          }
        }
        grant.commit();
      }
    }
  }

  /** Takes its share and gives it back: the Manager's part of a restore is the same without the copies. */
  private static void restore(Session session, long lease, int rank) {
    try (RestoreGrant grant = session.restore(lease, rank)) {
      grant.enqueued();
    }
  }
}
