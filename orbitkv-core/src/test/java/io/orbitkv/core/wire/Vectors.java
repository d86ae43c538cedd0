package io.orbitkv.core.wire;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** One message of each kind and form. They cover every form in which a value is written. */
final class Vectors {

  static final List<Request> REQUESTS = List.of(
      new Request.Hello(1, "engine 1.2.3", 4_711, 4_026_531_836L, Protocol.probe()),
      new Request.Register("llama/0", 0x1234_5678_9abc_def0L, Digest.sha256(new byte[] {1}), 2, 1_048_576, 16, 1),
      new Request.Register("Größe \"7\"", -1, Digest.ZERO, 1, 1, 0, Protocol.SCHEDULER),
      new Request.Register("x".repeat(128), Long.MIN_VALUE, Digest.ZERO, 8, 65_536, 256, Protocol.ALL_RANKS),
      new Request.Query(1, 2, 3, chain(3)),
      new Request.Query(70_000, 255, 256, chain(0)),
      new Request.Query(Long.MAX_VALUE, Long.MIN_VALUE, Integer.MAX_VALUE, chain(9)),
      new Request.Poll(1, 128, 65_536),
      new Request.Cancel(1, -32, Integer.MIN_VALUE),
      new Request.Release(1, 4_294_967_295L),
      new Request.Restore(1, 4_294_967_296L, 7),
      new Request.Enqueued(127),
      new Request.Drained(65_535),
      new Request.Reserve(1, 0, chain(2), 1, 2),
      new Request.Commit(9, new boolean[] {true, false}, new int[] {0x7fff_ffff, -2}),
      new Request.Commit(9, new boolean[0], new int[0]),
      new Request.Abort(-33),
      new Request.Settle(-32_769),
      new Request.Stats(),
      new Request.Flush(1_000),
      new Request.Leave(-2_147_483_649L),
      new Request.Follow(1, 0));

  static final List<Reply> REPLIES = List.of(
      new Reply.Welcome(1, "orbitkv 0.1.0", -129, "blocks.arena", 17_179_869_184L),
      new Reply.Refused(Reply.Refusal.REFUSED, "protocol 2, expected 1"),
      new Reply.Refused(Reply.Refusal.UNAVAILABLE, ""),
      new Reply.Refused(Reply.Refusal.CLOSED, "lease 7 has ended"),
      new Reply.Refused(Reply.Refusal.SUPERSEDED, "w".repeat(Protocol.MAX_TEXT_BYTES)),
      new Reply.Registered(1, 2, "witness-2", 0),
      new Reply.Answered(Reply.Standing.PENDING, 0, 0, 0, 3, "", ""),
      new Reply.Answered(Reply.Standing.HIT, 5, 3_145_728, 2, 1, "NOT_STORED", ""),
      new Reply.Answered(Reply.Standing.MISS, 0, 0, 0, 0, "NO_MEMORY", ""),
      new Reply.Answered(Reply.Standing.BUSY, 0, 0, 0, 0, "", "1 of 2 ranks registered"),
      new Reply.Answered(Reply.Standing.EXPIRED, 0, 0, 0, 0, "", ""),
      new Reply.Answered(Reply.Standing.CANCELLED, 0, 0, 0, 0, "", ""),
      new Reply.Granted(6, new long[] {0, 4_096, Protocol.UNWANTED}),
      new Reply.Granted(0, new long[0]),
      new Reply.Committed(3),
      new Reply.Flushed(true),
      new Reply.Flushed(false),
      new Reply.Statistics(new CacheStats(
          1, 2, 3, 4, 5, Map.of(MissReason.NOT_STORED, 6L, MissReason.OVER_BUDGET, 7L), 8, 9, 10, 11, 12, 13, 14, 15,
          16, 17, 18, 19, 20, 21, Map.of("ssd_read_corrupt", 22L, "save_no_parent", 23L), "healthy")),
      new Reply.Done(),
      new Reply.Departed(4_611_686_018_427_387_904L, false, chain(2)),
      new Reply.Departed(7, true, chain(0)));

  private Vectors() {}

  private static PrefixChain chain(int blocks) {
    return PrefixChain.ofTokens(IntStream.range(0, blocks).toArray(), 1);
  }
}
