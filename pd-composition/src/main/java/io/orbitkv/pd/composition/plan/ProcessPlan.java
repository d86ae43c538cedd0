package io.orbitkv.pd.composition.plan;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * One process to start.
 *
 * @param title what it is, as "prefill 'p0'"
 * @param host where
 * @param environment what to add to its environment
 * @param command the words of its command line
 */
public record ProcessPlan(String title, String host, Map<String, String> environment, List<String> command) {

  /** Copies both. */
  public ProcessPlan {
    environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
    command = List.copyOf(command);
  }

  /** Returns it as a line for a shell. */
  public String shell() {
    Stream<String> variables =
        environment.entrySet().stream().map(entry -> entry.getKey() + "=" + quoted(entry.getValue()));
    return Stream.concat(variables, command.stream().map(ProcessPlan::quoted)).collect(Collectors.joining(" "));
  }

  private static String quoted(String word) {
    return word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
  }
}
