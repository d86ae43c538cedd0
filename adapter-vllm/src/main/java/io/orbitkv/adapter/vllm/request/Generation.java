package io.orbitkv.adapter.vllm.request;

import io.orbitkv.api.Departures;
import io.orbitkv.api.Digest;
import java.util.random.RandomGenerator;

/**
 * What stands between an engine's hashes and the names under which blocks are stored. When the engine asks that nothing
 * saved so far be found any more, a new generation begins: its names are the hashes, changed by a mask that no other
 * generation has. A mask is random, so that nobody can come upon a name of one generation in another. The first has
 * none: an engine that was restarted finds what earlier starts saved in it.
 *
 * @param number how many resets the engine has seen
 * @param mask what every hash is changed by
 */
record Generation(int number, Digest mask) {

  /** The generation of an engine that was just started. */
  static final Generation FIRST = new Generation(0, Digest.ZERO);

  /** Returns what blocks of this generation are called by the engine. Names of another one become names of nothing. */
  Departures hashes(Departures names) {
    if (mask.equals(Digest.ZERO)) {
      return names;
    }
    return new Departures(names.cursor(), names.all(), names.blocks().stream().map(name -> new Digest(
        name.w0() ^ mask.w0(), name.w1() ^ mask.w1(), name.w2() ^ mask.w2(), name.w3() ^ mask.w3())).toList());
  }

  /** Returns the next one, under whose names nothing is stored. */
  Generation next(RandomGenerator random) {
    byte[] salt = new byte[Digest.BYTES];
    random.nextBytes(salt);
    return new Generation(number + 1, Digest.sha256(salt));
  }
}
