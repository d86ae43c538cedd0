package io.orbitkv.backend.dram.residency;

import io.orbitkv.api.spi.EvictionOrder;

/**
 * Ranks blocks by {@link ReturnTimes}: their expected hits for the time they would be kept.
 *
 * <p>Time is counted in requests. A block's class is how often it came back, in memory or out of it; that number
 * survives eviction in {@link EvictedBlocks}. Within a class only two blocks need to be looked at, the one used longest
 * ago and the one used last: few blocks come back at once, most do after some time, and then ever fewer, so the promise
 * rises with age and then falls, and its least value over the class is at one of the ends. (Looking at every block
 * instead moved the hit rate by less than 0.2 points on the conversation trace.)
 *
 * <p>A use is noted at its deepest block alone and handed up when blocks leave, as in {@link LruOrder}. The sampled
 * blocks from which return times are measured must know every use: each block knows its nearest sampled ancestor, so a
 * use visits one in 64 of them.
 *
 * <p>52 bytes a block number and 8 a block that can leave, doubled at worst by growth.
 */
final class HitDensityOrder implements EvictionOrder {

  /** Blocks are sampled for return times so that about this many are in memory, but never fewer than one in 64. */
  private static final int SAMPLE_BLOCKS = 1024;
  private static final int MAX_SAMPLE_SHIFT = 6;

  // Flags of a block.
  private static final int RANKED = 1;
  private static final int EXTENDED = 2;

  private final int sampleShift;
  private final ReturnTimes times = new ReturnTimes();
  private final SampledBlocks sample = new SampledBlocks(times);
  private final EvictedBlocks history = new EvictedBlocks(this::forgotten);

  private final LongColumn fingerprints = new LongColumn();
  private final LongColumn lastUse = new LongColumn();
  private final IntColumn parents = new IntColumn();
  private final IntColumn usesBefore = new IntColumn();
  private final IntColumn usesSince = new IntColumn();
  private final IntColumn flags = new IntColumn();
  private final IntColumn classes = new IntColumn();
  private final IntColumn samples = new IntColumn();
  private final IntColumn sampledAncestors = new IntColumn();

  private final BlockHeap[] oldest = new BlockHeap[ReturnTimes.CLASSES];
  private final BlockHeap[] youngest = new BlockHeap[ReturnTimes.CLASSES];
  private long requests;
  private long nextMeasure;

  HitDensityOrder(long capacityBlocks) {
    int wanted = 63 - Long.numberOfLeadingZeros(Math.max(1, capacityBlocks / SAMPLE_BLOCKS));
    sampleShift = Math.min(MAX_SAMPLE_SHIFT, wanted);
    IntColumn oldestPlaces = new IntColumn();
    IntColumn youngestPlaces = new IntColumn();
    for (int i = 0; i < ReturnTimes.CLASSES; i++) {
      oldest[i] = new BlockHeap(lastUse, oldestPlaces, false);
      youngest[i] = new BlockHeap(lastUse, youngestPlaces, true);
    }
  }

  @Override
  public void inserted(int block, int parent, long fingerprint) {
    if (parent == NONE) {
      beginRequest();
    } else {
      flags.set(parent, flags.get(parent) | EXTENDED);
      sample.extended(samples.get(parent));
    }
    EvictedBlocks.Past past = history.take(fingerprint);
    int sampled;
    if (past != null) {
      sampled = past.sample();
      sample.used(sampled, requests);
      usesBefore.set(block, past.uses() + 1);
    } else {
      sampled = isSampled(fingerprint) ? sample.open(requests) : NONE;
      usesBefore.set(block, 0);
    }
    usesSince.set(block, 0);
    lastUse.set(block, requests);
    fingerprints.set(block, fingerprint);
    parents.set(block, parent);
    flags.set(block, 0);
    samples.set(block, sampled);
    sampledAncestors.set(block, parent == NONE ? NONE : nearestSampled(parent));
  }

  @Override
  public void used(int block) {
    beginRequest();
    boolean ranked = (flags.get(block) & RANKED) != 0;
    if (ranked) {
      unrank(block);
    }
    usesSince.set(block, usesSince.get(block) + 1);
    lastUse.set(block, requests);
    for (int at = nearestSampled(block); at != NONE; at = sampledAncestors.get(at)) {
      sample.used(samples.get(at), requests);
    }
    if (ranked) {
      rank(block);
    }
  }

  @Override
  public void held(int block) {
    unrank(block);
  }

  @Override
  public void released(int block) {
    rank(block);
  }

  @Override
  public void removed(int block, boolean evicted) {
    unrank(block);
    history.put(fingerprints.get(block),
        new EvictedBlocks.Past(uses(block), lastUse.get(block), samples.get(block)));
    int parent = parents.get(block);
    if (parent != NONE) {
      // What the child counted before it came in was counted by the parent's own past as well.
      usesSince.set(parent, usesSince.get(parent) + usesSince.get(block));
      lastUse.set(parent, Math.max(lastUse.get(parent), lastUse.get(block)));
    }
  }

  @Override
  public int victim() {
    int victim = NONE;
    for (int i = 0; i < ReturnTimes.CLASSES; i++) {
      victim = worse(victim, oldest[i].first());
      victim = worse(victim, youngest[i].first());
    }
    return victim;
  }

  /** Returns the block that promises less, the one used longer ago of equals; either may be {@link #NONE}. */
  private int worse(int a, int b) {
    if (a == NONE || b == NONE) {
      return Math.max(a, b);
    }
    int order = Double.compare(promise(a), promise(b));
    return order < 0 || order == 0 && lastUse.get(a) <= lastUse.get(b) ? a : b;
  }

  private double promise(int block) {
    return times.promise(classes.get(block), requests - lastUse.get(block));
  }

  private void beginRequest() {
    requests++;
    if (requests >= nextMeasure) {
      sample.measure(requests);
      nextMeasure = requests + SampledBlocks.MEASURE_EVERY;
    }
  }

  private void rank(int block) {
    int rankedAs = ReturnTimes.classOf(uses(block), (flags.get(block) & EXTENDED) != 0);
    classes.set(block, rankedAs);
    flags.set(block, flags.get(block) | RANKED);
    oldest[rankedAs].add(block);
    youngest[rankedAs].add(block);
  }

  private void unrank(int block) {
    int rankedAs = classes.get(block);
    flags.set(block, flags.get(block) & ~RANKED);
    oldest[rankedAs].remove(block);
    youngest[rankedAs].remove(block);
  }

  private int uses(int block) {
    return usesBefore.get(block) + usesSince.get(block);
  }

  private boolean isSampled(long fingerprint) {
    return (fingerprint & (1 << sampleShift) - 1) == 0;
  }

  private int nearestSampled(int block) {
    return samples.get(block) != NONE ? block : sampledAncestors.get(block);
  }

  private void forgotten(EvictedBlocks.Past past) {
    sample.close(past.sample(), requests);
  }
}
