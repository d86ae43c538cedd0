package io.orbitkv.core.machine;

import static io.orbitkv.core.machine.CoreBench.chain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.ClosedException;
import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.StoreStatus;
import io.orbitkv.core.sim.SimStore.Kind;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What somebody is told of blocks that have left. */
class DeparturesTest {

  private static final PrefixChain CHAIN = chain(1, 2, 3, 4);

  private static List<Digest> blocks(PrefixChain chain, int... indexes) {
    return IntStream.of(indexes).mapToObj(chain::hash).toList();
  }

  private static long begin(CoreBench bench, CoreSession session) {
    Departures first = bench.core.departures(session, Departures.NO_CURSOR);
    assertThat(first.all()).isTrue();
    assertThat(first.blocks()).isEmpty();
    return first.cursor();
  }

  @Test
  void blocksThatLeave_areToldOnce_leavesFirst() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      long cursor = begin(bench, session);
      bench.save(session, CHAIN);
      bench.core.evictMemory(2 * bench.recordBytes);
      Departures told = bench.core.departures(session, cursor);
      assertThat(told.all()).isFalse();
      assertThat(told.blocks()).containsExactlyElementsOf(blocks(CHAIN, 3, 2));
      assertThat(bench.core.departures(session, told.cursor())).isEqualTo(
          new Departures(told.cursor(), false, List.of()));
      assertThat(bench.core.departures(session, cursor)).as("asked again").isEqualTo(told);
    }
  }

  @Test
  void blocksOnTheSsd_haveNotLeft_untilTheyAreGivenUpThereToo() {
    try (CoreBench bench = CoreBench.withStore(8)) {
      CoreSession session = bench.attach();
      long cursor = begin(bench, session);
      bench.store(session, CHAIN);
      assertThat(bench.core.departures(session, cursor).blocks()).isEmpty();
      CoreTicket ticket = bench.core.query(session, CHAIN);
      bench.store.complete(Kind.READ, StoreStatus.CORRUPT);
      bench.store.completeAll();
      bench.check();
      assertThat(ticket.ending()).isNotNull();
      assertThat(bench.core.departures(session, cursor).blocks())
          .containsExactlyInAnyOrderElementsOf(blocks(CHAIN, 0, 1, 2, 3));
    }
  }

  @Test
  void blocksThatWereNeverToBeFound_haveNotLeft() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      long cursor = begin(bench, session);
      bench.core.abort(bench.core.reserve(session, 0, CHAIN, 0, 4));
      assertThat(bench.core.departures(session, cursor).blocks()).isEmpty();
    }
  }

  @Test
  void otherNamespaces_areNotTold() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSession other = bench.attach(1, 1);
      long cursor = begin(bench, session);
      long cursorOfOther = begin(bench, other);
      bench.save(session, CHAIN);
      bench.core.evictMemory(bench.recordBytes);
      assertThat(bench.core.departures(other, cursorOfOther).blocks()).isEmpty();
      assertThat(bench.core.departures(other, cursor).all()).as("another's cursor").isTrue();
    }
  }

  @Test
  void whoAsksTooLate_isToldThatAllHaveLeft() {
    DepartureLog log = new DepartureLog(1);
    long cursor = log.since(3, Departures.NO_CURSOR).cursor();
    for (int block = 0; block < DepartureLog.KEPT; block++) {
      log.left(3, block, 1, 2, 3);
    }
    Departures part = log.since(3, cursor);
    assertThat(part.blocks()).hasSize(DepartureLog.AT_ONCE).startsWith(new Digest(0, 1, 2, 3))
        .endsWith(new Digest(DepartureLog.AT_ONCE - 1, 1, 2, 3));
    assertThat(log.since(3, part.cursor()).blocks()).startsWith(new Digest(DepartureLog.AT_ONCE, 1, 2, 3));
    log.left(3, -1, 1, 2, 3);
    Departures late = log.since(3, cursor);
    assertThat(late.all()).isTrue();
    assertThat(late.blocks()).isEmpty();
    assertThat(log.since(3, late.cursor())).isEqualTo(new Departures(late.cursor(), false, List.of()));
    assertThat(log.since(3, late.cursor() + 1).all()).as("a cursor of the future").isTrue();
  }

  @Test
  void nothingIsKept_whenNobodyOfTheNamespaceIsAttached() {
    try (CoreBench bench = CoreBench.ofMemory(8)) {
      CoreSession session = bench.attach();
      CoreSession second = bench.attach();
      long cursor = begin(bench, session);
      bench.core.close(session);
      assertThat(bench.core.departures(second, cursor).all()).as("another instance is there").isFalse();
      bench.core.close(second);
      assertThat(bench.core.departures(bench.attach(), cursor).all()).isTrue();
      assertThatThrownBy(() -> bench.core.departures(session, cursor)).isInstanceOf(ClosedException.class);
    }
  }
}
