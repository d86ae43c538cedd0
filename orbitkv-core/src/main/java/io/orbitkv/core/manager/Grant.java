package io.orbitkv.core.manager;

import io.orbitkv.core.machine.CoreRestore;
import io.orbitkv.core.machine.CoreSave;

/** What a connection was granted and has not ended. */
sealed interface Grant {

  /** Returns the member that it was granted to. */
  Member member();

  /**
   * A right to read.
   *
   * @param member who holds it
   * @param restore the core's part of it
   */
  record Restore(Member member, CoreRestore restore) implements Grant {}

  /**
   * A right to write.
   *
   * @param member who holds it
   * @param save the core's part of it
   */
  record Save(Member member, CoreSave save) implements Grant {}
}
