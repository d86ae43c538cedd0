package io.orbitkv.core.wire;

import java.lang.module.ModuleDescriptor;
import java.util.Optional;

/** How this build names itself to the other side and in messages. */
public final class Software {

  private Software() {}

  /** Returns name and version, as "orbitkv 0.1.0". */
  public static String name() {
    return "orbitkv " + Optional.ofNullable(Software.class.getModule().getDescriptor())
        .flatMap(ModuleDescriptor::rawVersion)
        .orElse("of an unpackaged build");
  }
}
