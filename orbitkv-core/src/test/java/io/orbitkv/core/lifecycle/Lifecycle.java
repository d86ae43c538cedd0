package io.orbitkv.core.lifecycle;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;

/**
 * A lifecycle beside an independently written table of what it allows: a line a state, the first state first, as
 * {@code OPEN: CLOSE -> CLOSING, LOSE -> LOST} or {@code CLOSED: final}.
 */
final class Lifecycle<S extends Enum<S>, E extends Enum<E>> {

  private final Class<S> states;
  private final Class<E> events;
  private final BiFunction<S, E, S> transition;
  private final Map<S, Map<E, S>> allowed;
  private final Set<S> finals;
  private final S first;

  Lifecycle(Class<S> states, Class<E> events, BiFunction<S, E, S> transition, String table) {
    this.states = states;
    this.events = events;
    this.transition = transition;
    this.allowed = new EnumMap<>(states);
    this.finals = EnumSet.noneOf(states);
    List<S> order = new ArrayList<>();
    table.lines().forEach(line -> {
      String[] parts = line.split(":");
      S state = Enum.valueOf(states, parts[0].strip());
      order.add(state);
      Map<E, S> next = new EnumMap<>(events);
      allowed.put(state, next);
      if (parts[1].strip().equals("final")) {
        finals.add(state);
        return;
      }
      for (String step : parts[1].split(",")) {
        String[] sides = step.split("->");
        next.put(Enum.valueOf(events, sides[0].strip()), Enum.valueOf(states, sides[1].strip()));
      }
    });
    this.first = order.getFirst();
  }

  S first() {
    return first;
  }

  S[] states() {
    return states.getEnumConstants();
  }

  E[] events() {
    return events.getEnumConstants();
  }

  /** Returns where the table leads, or null where it refuses. */
  S expected(S state, E event) {
    return allowed.get(state).get(event);
  }

  /** Returns where the code leads. */
  S actual(S state, E event) {
    return transition.apply(state, event);
  }

  boolean isFinal(S state) {
    return finals.contains(state);
  }

  /** Returns whether the table has a line for every state. */
  boolean isWhole() {
    return allowed.size() == states().length;
  }

  Set<S> reachable() {
    Set<S> reached = EnumSet.of(first);
    List<S> open = new ArrayList<>(reached);
    while (!open.isEmpty()) {
      for (S next : allowed.get(open.removeLast()).values()) {
        if (reached.add(next)) {
          open.add(next);
        }
      }
    }
    return reached;
  }

  @Override
  public String toString() {
    return states.getSimpleName();
  }
}
