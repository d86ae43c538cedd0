package io.orbitkv.core.lookup;

import io.orbitkv.api.PrefixChain;

/** Asks a cache. Used by one thread. */
@FunctionalInterface
public interface Questions {

  /**
   * Asks for the longest stored prefix of a chain. Returns at once.
   *
   * @param chain hashes as they are stored, at least one block
   * @return the question, to be looked at until it has ended or is dropped
   */
  Question ask(PrefixChain chain);
}
