package io.orbitkv.cli.manager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.api.Ticket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the API promises, of whatever cache it is: code written against it cannot tell which it has. */
@Timeout(300)
abstract class CacheContract {

  static final int SHARD = 4096;
  static final Duration SOON = Duration.ofSeconds(60);
  private static final Namespace NAMESPACE = Namespace.builder("test", "1", Digest.ZERO).build();
  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  @TempDir(factory = SharedMemoryFolder.class)
  private Path runtime;

  @TempDir
  private Path disk;

  private Cache cache;

  /** Opens a cache of 64 blocks of one shard in memory, over an SSD tier in files. */
  abstract Cache open(Path runtimeFolder, Path ssd);

  @BeforeEach
  void openCache() {
    cache = open(runtime, disk.resolve("ssd"));
  }

  @AfterEach
  void closeCache() {
    cache.close();
  }

  @Test
  void whatWasSaved_isRestored() throws InterruptedException {
    try (Session session = attach("engine", 1); Arena arena = Arena.ofConfined()) {
      MemorySegment source = bytes(arena, 4);
      assertThat(session.load(CHAIN, arena.allocate(4 * SHARD), SOON)).isZero();
      assertThat(session.store(CHAIN, 0, source)).isEqualTo(4);
      MemorySegment target = arena.allocate(4 * SHARD);
      assertThat(session.load(CHAIN, target, SOON)).isEqualTo(4);
      assertThat(target.mismatch(source)).isEqualTo(-1);
      assertThat(session.store(CHAIN, 0, source)).isZero();
    }
  }

  @Test
  void aBlock_isVisibleWhenEveryRankHasCommitted() {
    try (Session session = attach("engine", 2)) {
      save(session, 0, CHAIN);
      assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.NOT_STORED));
      save(session, 1, CHAIN);
      Answer.Hit hit = (Answer.Hit) session.query(CHAIN).poll();
      assertThat(hit.blocks()).isEqualTo(4);
      assertThat(hit.ending()).isEqualTo(MissReason.NONE);
      try (Lease lease = hit.lease(); RestoreGrant first = session.restore(lease, 0);
          RestoreGrant second = session.restore(lease.id(), 1)) {
        assertThat(lease.blocks()).isEqualTo(4);
        assertThat(lease.bytes()).isGreaterThanOrEqualTo(4 * 2 * SHARD);
        assertThat(first.shard(3).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 30);
        assertThat(second.shard(3).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 31);
        assertThat(first.shard(0).isReadOnly()).isTrue();
      }
      assertThat(cache.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void ranks_takeTheirShareOnce() {
    try (Session session = attach("engine", 2)) {
      save(session, 0, CHAIN);
      save(session, 1, CHAIN);
      Lease lease = ((Answer.Hit) session.query(CHAIN).poll()).lease();
      RestoreGrant first = session.restore(lease, 0);
      assertThatThrownBy(() -> session.restore(lease, 0)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(() -> session.restore(lease.id(), 0)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(() -> session.restore(lease, 2)).isInstanceOf(RefusedException.class);
      lease.close();
      assertThatThrownBy(() -> session.restore(lease, 1)).isInstanceOf(RefusedException.class);
      first.enqueued();
      first.drained();
      first.drained();
      assertThatThrownBy(() -> first.shard(0)).isInstanceOf(ClosedException.class);
      assertThat(cache.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void leasesOfOthers_areRefused() {
    try (Session one = attach("one", 1); Session two = attach("two", 1)) {
      save(one, 0, CHAIN);
      Lease lease = ((Answer.Hit) one.query(CHAIN).poll()).lease();
      assertThatThrownBy(() -> two.restore(lease.id(), 0)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(() -> two.restore(lease, 0)).isInstanceOf(RefusedException.class);
      one.restore(lease, 0).close();
    }
  }

  @Test
  void aHit_isHandedOutOnce() {
    try (Session session = attach("engine", 1)) {
      save(session, 0, CHAIN);
      Ticket ticket = session.query(CHAIN);
      Answer.Hit hit = (Answer.Hit) ticket.poll();
      assertThat(ticket.poll()).isInstanceOf(Answer.Cancelled.class);
      ticket.cancel();
      session.restore(hit.lease(), 0).close();

      Ticket dropped = session.query(CHAIN);
      dropped.cancel();
      assertThat(dropped.poll()).isInstanceOf(Answer.Cancelled.class);
      assertThat(cache.stats().leasedBytes()).isZero();
    }
  }

  @Test
  void queryIds_ascend() {
    try (Session session = attach("engine", 1)) {
      session.query(new QueryId(5, 0), CHAIN);
      assertThatThrownBy(() -> session.query(new QueryId(4, 0), CHAIN)).isInstanceOf(RefusedException.class);
      assertThat(session.query(CHAIN).id()).isEqualTo(new QueryId(6, 0));
      assertThat(session.query(new QueryId(9, 1), CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.NOT_STORED));
    }
  }

  @Test
  void aSave_wantsWhatIsNotThere() {
    try (Session session = attach("engine", 1)) {
      save(session, 0, CHAIN.first(2));
      SaveGrant grant = session.reserve(0, CHAIN, 0, 4);
      assertThat(grant.firstBlock()).isZero();
      assertThat(grant.blocks()).isEqualTo(4);
      assertThat(grant.wanted()).isEqualTo(2);
      assertThat(grant.wants(1)).isFalse();
      assertThat(grant.wants(2)).isTrue();
      assertThat(grant.wants(4)).isFalse();
      assertThatThrownBy(() -> grant.shard(1)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(() -> grant.copied(1, 0)).isInstanceOf(RefusedException.class);
      grant.shard(2).fill((byte) 1);
      grant.copied(2, 0);
      assertThat(grant.commit()).isEqualTo(1);
      grant.close();
      assertThatThrownBy(grant::commit).isInstanceOf(ClosedException.class);
      assertThat(((Answer.Hit) session.query(CHAIN).poll()).blocks()).isEqualTo(3);
      assertThatThrownBy(() -> session.reserve(0, CHAIN, 2, 5)).isInstanceOf(RefusedException.class);
      assertThatThrownBy(() -> session.reserve(1, CHAIN, 0, 4)).isInstanceOf(RefusedException.class);
    }
  }

  @Test
  void anAbortedSave_leavesNothing() {
    try (Session session = attach("engine", 1)) {
      SaveGrant grant = session.reserve(0, CHAIN, 0, 4);
      grant.shard(0).fill((byte) 7);
      grant.copied(0, 0);
      grant.close();
      assertThat(session.query(CHAIN).poll()).isEqualTo(new Answer.Miss(MissReason.NOT_STORED));
      assertThat(cache.stats().dramBytes()).isZero();
    }
  }

  @Test
  void grants_goOnAfterTheirSession() {
    Session session = attach("engine", 1);
    save(session, 0, CHAIN);
    Lease lease = ((Answer.Hit) session.query(CHAIN).poll()).lease();
    RestoreGrant restore = session.restore(lease, 0);
    SaveGrant save = session.reserve(0, chain(9), 0, 1);
    session.close();
    session.close();
    assertThat(restore.shard(1).get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 10);
    restore.close();
    save.shard(0).fill((byte) 9);
    save.copied(0, 0);
    assertThat(save.commit()).isEqualTo(1);
    assertThatThrownBy(() -> session.query(CHAIN)).isInstanceOf(ClosedException.class);
    try (Session next = attach("engine", 1)) {
      assertThat(next.query(chain(9)).poll()).isInstanceOf(Answer.Hit.class);
    }
    assertThat(cache.stats().leasedBytes()).isZero();
  }

  @Test
  void blocksThatLeftMemory_areReadFromTheSsd() throws InterruptedException {
    try (Session session = attach("engine", 1)) {
      save(session, 0, CHAIN);
      assertThat(cache.flush(SOON)).isTrue();
      for (int round = 0; round < 8; round++) {
        PrefixChain other = chain(100 + round, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        save(session, 0, other);
        assertThat(cache.flush(SOON)).isTrue();
      }
      CacheStats stats = cache.stats();
      assertThat(stats.blocksSsd()).isGreaterThan(stats.blocksDram());
      Answer answer = session.query(CHAIN).await(SOON);
      assertThat(answer).isInstanceOfSatisfying(Answer.Hit.class, hit -> {
        assertThat(hit.blocks()).isEqualTo(4);
        assertThat(hit.ssdBlocks()).isPositive();
        try (RestoreGrant restore = session.restore(hit.lease(), 0)) {
          assertThat(restore.shard(2).get(ValueLayout.JAVA_BYTE, 77)).isEqualTo((byte) 20);
        }
      });
    }
  }

  @Test
  void figuresAddUp() {
    try (Session session = cache.attach(new SessionSpec("engine", NAMESPACE, ShardLayout.single(SHARD), 16))) {
      session.query(CHAIN);
      save(session, 0, CHAIN);
      ((Answer.Hit) session.query(CHAIN).poll()).lease().close();
      CacheStats stats = cache.stats();
      assertThat(stats.queries()).isEqualTo(2);
      assertThat(stats.blocksQueried()).isEqualTo(8);
      assertThat(stats.blocksHitDram()).isEqualTo(4);
      assertThat(stats.blocksMissed()).isEqualTo(4);
      assertThat(stats.tokensQueried()).isEqualTo(8 * 16);
      assertThat(stats.bytesSaved()).isEqualTo(4 * SHARD);
    }
  }

  @Test
  void aClosedCache_saysSo() {
    cache.close();
    cache.close();
    assertThatThrownBy(() -> attach("late", 1)).isInstanceOf(ClosedException.class);
    assertThatThrownBy(cache::stats).isInstanceOf(ClosedException.class);
  }

  private Session attach(String instance, int ranks) {
    return cache.attach(new SessionSpec(instance, NAMESPACE, new ShardLayout(ranks, SHARD)));
  }

  static PrefixChain chain(int... tokens) {
    return PrefixChain.ofTokens(tokens, 1);
  }

  /** Block b of rank r is filled with 10 b + r. */
  private static void save(Session session, int rank, PrefixChain chain) {
    CRC32C crc = new CRC32C();
    try (SaveGrant grant = session.reserve(rank, chain, 0, chain.blocks())) {
      for (int block = 0; block < chain.blocks(); block++) {
        if (grant.wants(block)) {
          MemorySegment shard = grant.shard(block);
          shard.fill((byte) (10 * block + rank));
          crc.reset();
          crc.update(shard.asByteBuffer());
          grant.copied(block, (int) crc.getValue());
        }
      }
      grant.commit();
    }
  }

  private static MemorySegment bytes(Arena arena, int blocks) {
    MemorySegment bytes = arena.allocate((long) blocks * SHARD);
    for (long at = 0; at < bytes.byteSize(); at++) {
      bytes.set(ValueLayout.JAVA_BYTE, at, (byte) (at * 31 + at / 251));
    }
    return bytes;
  }
}
