package io.orbitkv.backend.iouring.store;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.UnavailableException;
import io.orbitkv.api.spi.ExtentHeader;
import io.orbitkv.api.spi.RecoverySink;
import io.orbitkv.api.spi.StoreInspection;
import io.orbitkv.backend.iouring.file.StoreFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Looks at a store as recovery would, with no lock and no write, so that it can be in use or damaged meanwhile. */
final class Inspection implements RecoverySink {

  private final List<StoreInspection.Segment> segments = new ArrayList<>();
  private long extents;
  private long payload;

  // The segment whose extents are being handed over.
  private int segment = -1;
  private long generation;
  private SegmentState state;
  private long segmentExtents;
  private long segmentPayload;

  private Inspection() {}

  static StoreInspection of(Path folder) {
    Path data = folder.resolve(StoreFolder.DATA_FILE);
    try {
      Optional<SuperblockCopies> copies = StoreFolder.existing(data);
      if (copies.isEmpty()) {
        throw new RefusedException("folder " + folder + " holds no store: there is no " + StoreFolder.DATA_FILE);
      }
      Superblock superblock = copies.get().newest();
      Inspection inspection = new Inspection();
      Drops drops = new Drops();
      try (StoreFile file = new ReadOnlyFile(data)) {
        new Recovery(file, superblock, inspection, drops).run();
      }
      inspection.endSegment();
      inspection.segments.sort(Comparator.comparingInt(StoreInspection.Segment::index));
      return new StoreInspection(facts(folder, data, copies.get()), inspection.segments, inspection.extents,
          inspection.payload, drops.byLabel());
    } catch (IOException e) {
      throw new UnavailableException("store " + folder + " cannot be read: " + e.getMessage(), e);
    }
  }

  private static Map<String, String> facts(Path folder, Path data, SuperblockCopies copies) throws IOException {
    Superblock superblock = copies.newest();
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("format version", Integer.toString(Page.FORMAT_VERSION));
    facts.put("store id", superblock.id().toString());
    facts.put("created", Instant.ofEpochMilli(superblock.createdMillis()).toString());
    facts.put("segments", superblock.segments() + " of " + new ByteSize(superblock.segmentBytes()));
    facts.put("largest payload", new ByteSize(Sizing.geometry(superblock).maxPayloadBytes()).toString());
    long bytes = Files.size(data);
    facts.put("file bytes", bytes == superblock.fileBytes()
        ? Long.toString(bytes)
        : bytes + ", expected " + superblock.fileBytes());
    facts.put("superblocks", copies.stale().isEmpty()
        ? "both intact"
        : "copy " + copies.stale().getFirst() + " of 0 and 1 is damaged or old");
    facts.put("owner", Owner.read(folder)
        .map(owner -> (owner.isRunning() ? "in use by " : "left by ") + owner)
        .orElse("none"));
    return facts;
  }

  @Override
  public void segment(int index, long segmentGeneration, SegmentState segmentState) {
    endSegment();
    segment = index;
    generation = segmentGeneration;
    state = segmentState;
    segmentExtents = 0;
    segmentPayload = 0;
  }

  @Override
  public void extent(int offset, ExtentHeader header, long payloadBytes, int shards) {
    extents++;
    payload += payloadBytes;
    segmentExtents++;
    segmentPayload += payloadBytes;
  }

  private void endSegment() {
    if (segment >= 0) {
      segments.add(new StoreInspection.Segment(segment, generation, state, segmentExtents, segmentPayload));
    }
  }
}
