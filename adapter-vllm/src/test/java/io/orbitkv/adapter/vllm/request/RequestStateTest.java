package io.orbitkv.adapter.vllm.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.adapter.vllm.request.RequestState.Event;
import io.orbitkv.core.lifecycle.IllegalTransitionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Transitions are those of the tables in {@code docs/vllm.md}. */
class RequestStateTest {

  private static final Pattern ROW = Pattern.compile("(?m)^\\| `([A-Z]+)` \\| ([^|]+) \\| `([A-Z]+)` \\| [^|]+ \\|$");
  private static final Pattern NAME = Pattern.compile("`([A-Z]+)`");

  private record Row(Set<RequestState> from, RequestState to) {}

  private static Map<Event, Row> documented() throws IOException {
    Map<Event, Row> rows = new EnumMap<>(Event.class);
    for (MatchResult row : ROW.matcher(Files.readString(Path.of("../docs/vllm.md"))).results().toList()) {
      Set<RequestState> named = NAME.matcher(row.group(2)).results()
          .map(name -> RequestState.valueOf(name.group(1)))
          .collect(Collectors.toCollection(() -> EnumSet.noneOf(RequestState.class)));
      rows.put(Event.valueOf(row.group(1)), new Row(
          row.group(2).startsWith("all but") ? EnumSet.complementOf(EnumSet.copyOf(named)) : named,
          RequestState.valueOf(row.group(3))));
    }
    return rows;
  }

  @ParameterizedTest
  @EnumSource
  void transitionsAreThoseOfTheDocument(Event event) throws IOException {
    Row row = documented().get(event);
    for (RequestState state : RequestState.values()) {
      if (row.from().contains(state)) {
        assertThat(state.on(event)).as(state + " on " + event).isEqualTo(row.to());
      } else {
        assertThatThrownBy(() -> state.on(event)).isInstanceOf(IllegalTransitionException.class)
            .hasMessage("RequestState " + state + " refuses Event " + event);
      }
    }
  }

  @Test
  void everyStateIsDocumentedAndCanBeReachedAndLeft() throws IOException {
    Map<Event, Row> rows = documented();
    for (RequestState state : RequestState.values()) {
      assertThat(Files.readString(Path.of("../docs/vllm.md"))).contains("| `" + state + "` |");
      assertThat(rows.values()).as("ways into " + state).anyMatch(row -> row.to() == state);
      Optional<Row> out = rows.values().stream()
          .filter(row -> row.from().contains(state) && row.to() != state).findAny();
      assertThat(out.isPresent()).as("ways out of " + state).isEqualTo(state != RequestState.GONE);
    }
  }
}
