package io.orbitkv.adapter.sglang.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.adapter.sglang.request.RequestState.Event;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Every state and every event. */
class RequestStateTest {

  private static final Map<RequestState, Map<Event, RequestState>> LEGAL = Map.of(
      RequestState.ASKING, Map.of(Event.HOLD, RequestState.HELD, Event.MISS, RequestState.MISSED, Event.END,
          RequestState.GONE),
      RequestState.HELD, Map.of(Event.END, RequestState.GONE),
      RequestState.MISSED, Map.of(Event.ASK, RequestState.ASKING, Event.END, RequestState.GONE),
      RequestState.GONE, Map.of());

  @Test
  void everyEventLeadsWhereItShouldOrNowhere() {
    for (RequestState state : RequestState.values()) {
      for (Event event : Event.values()) {
        if (LEGAL.get(state).containsKey(event)) {
          assertThat(state.on(event)).as(state + " " + event).isEqualTo(LEGAL.get(state).get(event));
        } else {
          assertThatThrownBy(() -> state.on(event)).as(state + " " + event)
              .isInstanceOf(IllegalTransitionException.class);
        }
      }
    }
  }
}
