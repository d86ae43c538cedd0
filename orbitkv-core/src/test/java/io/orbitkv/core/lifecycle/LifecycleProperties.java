package io.orbitkv.core.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.GenerationMode;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class LifecycleProperties {

  private static final List<Lifecycle<?, ?>> LIFECYCLES = List.of(
      new Lifecycle<>(TicketState.class, TicketState.Event.class, TicketState::on, """
          SUBMITTED: MISS -> DELIVERED, RESIDENT -> READY, READS_SUBMITTED -> PENDING, REFUSE -> BUSY
          PENDING:   MISS -> DELIVERED, RESIDENT -> READY, CANCEL -> CANCELLED, EXPIRE -> EXPIRED
          READY:     CLAIM -> DELIVERED, CANCEL -> CANCELLED, EXPIRE -> EXPIRED
          DELIVERED: final
          BUSY:      final
          EXPIRED:   final
          CANCELLED: final"""),
      new Lifecycle<>(LeaseState.class, LeaseState.Event.class, LeaseState::on, """
          HELD:     TAKE -> HELD, DRAIN -> HELD, TAKE_LAST -> DRAINING, CLOSE -> DRAINING, CLOSE_IDLE -> RETIRED
          DRAINING: DRAIN -> DRAINING, DRAIN_LAST -> RETIRED
          RETIRED:  final"""),
      new Lifecycle<>(SaveState.class, SaveState.Event.class, SaveState::on, """
          GRANTED:     COMMIT -> ENDED, ABORT -> ENDED, LOSE -> QUARANTINED
          QUARANTINED: PROVE_GONE -> ENDED
          ENDED:       final"""),
      new Lifecycle<>(RestoreState.class, RestoreState.Event.class, RestoreState::on, """
          GRANTED:     ENQUEUE -> ENQUEUED, DRAIN -> RETIRED, LOSE -> QUARANTINED
          ENQUEUED:    DRAIN -> RETIRED, LOSE -> QUARANTINED
          QUARANTINED: PROVE_GONE -> RETIRED
          RETIRED:     final"""),
      new Lifecycle<>(SessionState.class, SessionState.Event.class, SessionState::on, """
          OPEN:    CLOSE -> CLOSING, CLOSE_IDLE -> CLOSED, LOSE -> LOST
          CLOSING: CLOSE_IDLE -> CLOSED, LOSE -> LOST
          LOST:    LOSE -> LOST, PROVE_GONE -> LOST, CLOSE_IDLE -> CLOSED
          CLOSED:  final"""),
      new Lifecycle<>(ResidenceState.class, ResidenceState.Event.class, ResidenceState::on, """
          ABSENT:   GRANT -> FILLING, READ -> LOADING
          FILLING:  COMPLETE -> COMPLETE, DROP -> ABSENT
          LOADING:  COMPLETE -> COMPLETE, DROP -> ABSENT
          COMPLETE: PROMOTE -> RESIDENT, DROP -> ABSENT
          RESIDENT: EVICT -> ABSENT"""),
      new Lifecycle<>(ExtentState.class, ExtentState.Event.class, ExtentState::on, """
          ABSENT:    ENQUEUE -> DIRTY, RECOVER -> COMMITTED
          DIRTY:     WRITE -> WRITING, RECLAIM -> ABSENT
          WRITING:   COMMIT -> COMMITTED, FAIL -> ABSENT, RECLAIM -> ABSENT
          COMMITTED: RECLAIM -> ABSENT, INVALIDATE -> ABSENT"""),
      new Lifecycle<>(SegmentState.class, SegmentState.Event.class, SegmentState::on, """
          FREE:       ACTIVATE -> ACTIVATING, SEAL -> SEALING, SEALED -> SEALED
          ACTIVATING: ACTIVATED -> OPEN, FAIL -> RETIRED
          OPEN:       SEAL -> SEALING
          SEALING:    SEALED -> SEALED, FAIL -> SEALED
          SEALED:     RECLAIM -> RECLAIMING
          RECLAIMING: EMPTIED -> FREE
          RETIRED:    final"""));

  @Provide
  Arbitrary<Lifecycle<?, ?>> lifecycles() {
    return Arbitraries.of(LIFECYCLES);
  }

  @Property(generation = GenerationMode.EXHAUSTIVE)
  void everyEventLeadsWhereTheTableSays_orIsRefusedWithBothNames(@ForAll("lifecycles") Lifecycle<?, ?> lifecycle) {
    everyEvent(lifecycle);
  }

  private static <S extends Enum<S>, E extends Enum<E>> void everyEvent(Lifecycle<S, E> lifecycle) {
    assertThat(lifecycle.isWhole()).as("a line for every state").isTrue();
    for (S state : lifecycle.states()) {
      for (E event : lifecycle.events()) {
        S expected = lifecycle.expected(state, event);
        if (expected != null) {
          assertThat(lifecycle.actual(state, event)).as("%s on %s", state, event).isEqualTo(expected);
        } else {
          assertThatThrownBy(() -> lifecycle.actual(state, event)).as("%s on %s", state, event)
              .isInstanceOf(IllegalTransitionException.class)
              .hasMessageContainingAll(lifecycle.toString(), state.name(), event.name());
        }
      }
    }
  }

  @Property(generation = GenerationMode.EXHAUSTIVE)
  void everyStateIsReached_andFinalOnesAcceptNothing(@ForAll("lifecycles") Lifecycle<?, ?> lifecycle) {
    reached(lifecycle);
  }

  private static <S extends Enum<S>, E extends Enum<E>> void reached(Lifecycle<S, E> lifecycle) {
    assertThat(lifecycle.first()).as("the first state").isEqualTo(lifecycle.states()[0]);
    assertThat(lifecycle.reachable()).containsExactlyInAnyOrder(lifecycle.states());
    for (S state : lifecycle.states()) {
      long accepted = List.of(lifecycle.events()).stream().filter(event -> accepts(lifecycle, state, event)).count();
      assertThat(accepted == 0).as("%s is final", state).isEqualTo(lifecycle.isFinal(state));
    }
  }

  @Property(tries = 300)
  void noSequenceOfEventsLeavesAFinalState(
      @ForAll("lifecycles") Lifecycle<?, ?> lifecycle,
      @ForAll @Size(max = 40) List<@IntRange(max = 1000) Integer> choices) {
    walk(lifecycle, choices);
  }

  private static <S extends Enum<S>, E extends Enum<E>> void walk(Lifecycle<S, E> lifecycle, List<Integer> choices) {
    S state = lifecycle.first();
    for (int choice : choices) {
      E event = lifecycle.events()[choice % lifecycle.events().length];
      S before = state;
      if (accepts(lifecycle, before, event)) {
        state = lifecycle.actual(before, event);
        assertThat(lifecycle.isFinal(before)).as("%s accepts %s", before, event).isFalse();
      }
    }
  }

  private static <S extends Enum<S>, E extends Enum<E>> boolean accepts(Lifecycle<S, E> lifecycle, S state, E event) {
    return catchThrowableOfType(IllegalTransitionException.class, () -> lifecycle.actual(state, event)) == null;
  }

  @Example
  void aTicketSaysWhichOfItsStatesAreFinal() {
    for (TicketState state : TicketState.values()) {
      assertThat(state.isFinal()).as("%s", state).isEqualTo(
          List.of(TicketState.Event.values()).stream().allMatch(event -> catchThrowableOfType(
              IllegalTransitionException.class, () -> state.on(event)) != null));
    }
  }

  @Example
  void statesThatRowsHoldAreFoundByTheirOrdinals() {
    for (ResidenceState state : ResidenceState.values()) {
      assertThat(ResidenceState.of(state.ordinal())).isEqualTo(state);
    }
    for (ExtentState state : ExtentState.values()) {
      assertThat(ExtentState.of(state.ordinal())).isEqualTo(state);
    }
  }
}
