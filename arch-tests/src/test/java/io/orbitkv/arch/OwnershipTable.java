package io.orbitkv.arch;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Who may depend on whom. A module's place follows from its name, so that a new backend or adapter is held to the table
 * from its first day; a module of no known kind may use the API and nothing else.
 */
final class OwnershipTable {

  /** What a module is in the architecture. */
  enum Kind {
    /** The contract that everything else is written against. */
    API,
    /** The state machines. */
    CORE,
    /** An implementation of provider interfaces, found by name. */
    BACKEND,
    /** The translation of one engine's contract. */
    ADAPTER,
    /** An end of the dependency graph: the command, the benchmarks. */
    APPLICATION,
    /** Anything else. */
    OTHER
  }

  /** Named modules outside this build that a module may use besides {@code java.base}. Applications may use any. */
  private static final Map<String, Set<String>> OUTSIDE = Map.of(
      "io.orbitkv.backend.dram", Set.of("com.github.benmanes.caffeine"),
      // The user behind a Unix socket.
      "io.orbitkv.core", Set.of("jdk.net"),
      // Engines take settings as JSON on their command lines.
      "io.orbitkv.pd.composition", Set.of("tools.jackson.databind"));

  /** Parts of a module that are doors of their own, besides the package of its name. */
  private static final Map<String, Set<String>> DOORS = Map.of(
      "io.orbitkv.core", Set.of("io.orbitkv.core.agent", "io.orbitkv.core.client", "io.orbitkv.core.manager"));

  /** Packages of the core that adapters are written with: what they share, the agent, its cache, messages, lifecycles. */
  static final Set<String> CORE_FOR_ADAPTERS = Set.of("io.orbitkv.core.adapter", "io.orbitkv.core.agent",
      "io.orbitkv.core.client", "io.orbitkv.core.identity", "io.orbitkv.core.lifecycle", "io.orbitkv.core.lookup",
      "io.orbitkv.core.wire");

  private OwnershipTable() {}

  static Kind kindOf(String module) {
    return switch (module) {
      case "io.orbitkv.api" -> Kind.API;
      case "io.orbitkv.core" -> Kind.CORE;
      case "io.orbitkv.cli", "io.orbitkv.benchmarks" -> Kind.APPLICATION;
      case String name when name.startsWith("io.orbitkv.backend.") -> Kind.BACKEND;
      case String name when name.startsWith("io.orbitkv.adapter.") -> Kind.ADAPTER;
      default -> Kind.OTHER;
    };
  }

  /** Returns whether one module may depend on another, by its descriptor and in its code. */
  static boolean mayDependOn(String module, String target) {
    if (module.equals(target) || target.equals("java.base")) {
      return true;
    }
    Kind kind = kindOf(module);
    if (!isOurs(target)) {
      return kind == Kind.APPLICATION || OUTSIDE.getOrDefault(module, Set.of()).contains(target);
    }
    Kind targetKind = kindOf(target);
    return switch (kind) {
      case API -> false;
      case CORE, BACKEND, OTHER -> targetKind == Kind.API;
      case ADAPTER -> targetKind == Kind.API || targetKind == Kind.CORE;
      // An adapter is found by its engine's name, by nobody else's code.
      case APPLICATION -> targetKind != Kind.APPLICATION && targetKind != Kind.ADAPTER;
    };
  }

  /** Returns the packages of a module that others may see. */
  static Set<String> doorsOf(String module) {
    Set<String> doors = new HashSet<>(DOORS.getOrDefault(module, Set.of()));
    doors.add(module);
    return doors;
  }

  static boolean isOurs(String module) {
    return module.startsWith("io.orbitkv.");
  }
}
