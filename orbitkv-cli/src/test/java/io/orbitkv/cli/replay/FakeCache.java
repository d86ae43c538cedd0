package io.orbitkv.cli.replay;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Cache;
import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Lease;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.QueryId;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.Ticket;
import io.orbitkv.api.spi.RecoveryReport;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * The least that a cache can be: a map of blocks in memory, never full, and another map for a disk that outlives it.
 * What it hands out on a restore can be made wrong on purpose.
 */
public final class FakeCache implements Cache {

  /** What {@link #close} leaves for the next cache. */
  public static final class Disk {
    private final Map<Digest, MemorySegment[]> blocks = new HashMap<>();
  }

  /** Chooses the bytes that a restore gets. */
  @FunctionalInterface
  public interface Restores {
    /** Right bytes. */
    Restores RIGHT = (cache, chain, block, rank) -> cache.stored(chain, block, rank);

    /** Returns a shard. */
    MemorySegment shard(FakeCache cache, PrefixChain chain, int block, int rank);
  }

  private final Map<Digest, MemorySegment[]> memory = new HashMap<>();
  private final Map<Digest, MemorySegment[]> unsealed = new HashMap<>();
  private final Disk disk;
  private final Restores restores;
  private int refusedRestores;
  private long saved;

  public FakeCache(Disk disk, Restores restores) {
    this.disk = disk;
    this.restores = restores;
  }

  /** Opens fake caches over one disk, as restarts do. */
  public static CacheOpener opener(Restores restores) {
    Disk disk = new Disk();
    return () -> new CacheOpener.Opened(
        new FakeCache(disk, restores), Optional.of(new RecoveryReport(disk.blocks.size(), 0, 0, Map.of(), 0)));
  }

  /** Has the next restores refused, as by a Manager that died after its answer. */
  public void refuseRestores(int count) {
    refusedRestores = count;
  }

  /** Returns the bytes that were saved. */
  public MemorySegment stored(PrefixChain chain, int block, int rank) {
    return memory.get(chain.hash(block))[rank];
  }

  @Override
  public Session attach(SessionSpec spec) {
    return new FakeSession(spec);
  }

  @Override
  public CacheStats stats() {
    return new CacheStats(0, 0, 0, 0, 0, Map.of(), saved, 0, 0, 0, 0, 0, memory.size(), disk.blocks.size(),
        0, 0, 0, 0, 0, 0, Map.of("fake", 1L), "healthy");
  }

  @Override
  public boolean flush(Duration limit) {
    disk.blocks.putAll(memory);
    return true;
  }

  @Override
  public void close() {
  }

  private final class FakeSession implements Session {

    private final SessionSpec spec;
    private long operation;

    FakeSession(SessionSpec spec) {
      this.spec = spec;
    }

    @Override
    public SessionSpec spec() {
      return spec;
    }

    @Override
    public Ticket query(PrefixChain chain) {
      return query(new QueryId(operation++, 0), chain);
    }

    @Override
    public Ticket query(QueryId id, PrefixChain chain) {
      int resident = 0;
      while (resident < chain.blocks() && memory.containsKey(chain.hash(resident))) {
        resident++;
      }
      int hit = resident;
      while (hit < chain.blocks() && disk.blocks.containsKey(chain.hash(hit))) {
        memory.put(chain.hash(hit), disk.blocks.get(chain.hash(hit)));
        hit++;
      }
      MissReason ending = hit == chain.blocks() ? MissReason.NONE : MissReason.NOT_STORED;
      Answer last = hit == 0 ? new Answer.Miss(ending)
          : new Answer.Hit(new FakeLease(chain.first(hit)), resident, hit - resident, ending);
      Answer first = hit > resident ? new Answer.Pending(resident, hit - resident) : last;
      return new FakeTicket(id, first, last);
    }

    @Override
    public RestoreGrant restore(Lease lease, int rank) {
      if (refusedRestores > 0) {
        refusedRestores--;
        throw new RefusedException("lease " + lease.id() + " has ended");
      }
      PrefixChain chain = ((FakeLease) lease).chain;
      return new RestoreGrant() {
        @Override
        public int blocks() {
          return chain.blocks();
        }

        @Override
        public MemorySegment shard(int block) {
          return restores.shard(FakeCache.this, chain, block, rank);
        }

        @Override
        public void enqueued() {}

        @Override
        public void drained() {}
      };
    }

    @Override
    public RestoreGrant restore(long lease, int rank) {
      throw new UnsupportedOperationException("leases of this cache have no numbers");
    }

    @Override
    public SaveGrant reserve(int rank, PrefixChain chain, int fromBlock, int toBlock) {
      return new FakeSave(spec, rank, chain, fromBlock, toBlock);
    }

    @Override
    public Departures departures(long cursor) {
      return new Departures(cursor, false, List.of());
    }

    @Override
    public void close() {}
  }

  private record FakeTicket(QueryId id, Answer first, Answer last) implements Ticket {
    @Override
    public Answer poll() {
      return first;
    }

    @Override
    public Answer await(Duration limit) {
      return last;
    }

    @Override
    public void cancel() {}
  }

  private static final class FakeLease implements Lease {
    private final PrefixChain chain;

    FakeLease(PrefixChain chain) {
      this.chain = chain;
    }

    @Override
    public long id() {
      return 0;
    }

    @Override
    public int blocks() {
      return chain.blocks();
    }

    @Override
    public long bytes() {
      return 0;
    }

    @Override
    public void close() {}
  }

  private final class FakeSave implements SaveGrant {
    private final SessionSpec spec;
    private final int rank;
    private final PrefixChain chain;
    private final int fromBlock;
    private final int toBlock;
    private int committed;

    FakeSave(SessionSpec spec, int rank, PrefixChain chain, int fromBlock, int toBlock) {
      this.spec = spec;
      this.rank = rank;
      this.chain = chain;
      this.fromBlock = fromBlock;
      this.toBlock = toBlock;
    }

    @Override
    public int firstBlock() {
      return fromBlock;
    }

    @Override
    public int blocks() {
      return toBlock - fromBlock;
    }

    @Override
    public boolean wants(int block) {
      return !memory.containsKey(chain.hash(block));
    }

    @Override
    public int stored() {
      return blocks() - wanted();
    }

    @Override
    public int wanted() {
      int wanted = 0;
      for (int block = fromBlock; block < toBlock; block++) {
        wanted += wants(block) ? 1 : 0;
      }
      return wanted;
    }

    @Override
    public MemorySegment shard(int block) {
      MemorySegment[] shards =
          unsealed.computeIfAbsent(chain.hash(block), hash -> new MemorySegment[spec.layout().ranks()]);
      if (shards[rank] == null) {
        shards[rank] = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(spec.layout().shardBytes()));
      }
      return shards[rank];
    }

    @Override
    public void copied(int block, int crc32c) {
      CRC32C crc = new CRC32C();
      crc.update(shard(block).asByteBuffer());
      if ((int) crc.getValue() != crc32c) {
        throw new IllegalStateException("block " + block + " of rank " + rank + " was stated with a wrong checksum");
      }
      committed++;
      if (rank == spec.layout().ranks() - 1) {
        memory.put(chain.hash(block), unsealed.remove(chain.hash(block)));
        saved++;
      }
    }

    @Override
    public int commit() {
      return committed;
    }

    @Override
    public void close() {}
  }
}
