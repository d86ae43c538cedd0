package io.orbitkv.core.adapter;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Software;

/**
 * The release of an engine that an adapter serves, and the protocol that it speaks with it.
 *
 * @param engine the engine's name, for messages
 * @param release its version
 * @param protocol what the protocol is called in messages
 * @param version the protocol's version
 */
public record ServedRelease(String engine, String release, String protocol, int version) {

  /**
   * Refuses whoever is not served.
   *
   * @param stated the version of the protocol that the other side speaks
   * @param software name and version of the other side, for messages
   * @param engineVersion the engine's version; a build for one kind of machine has that behind a plus sign
   * @param probe the hash of a fixed chain, as the other side computes it
   * @throws RefusedException if they differ, with what to do
   */
  public void require(int stated, String software, String engineVersion, Digest probe) {
    if (stated != version) {
      throw new RefusedException(software + " speaks version " + stated + " of the " + protocol + "'s protocol, "
          + Software.name() + " version " + version + "; use one release of both");
    }
    if (!engineVersion.equals(release) && !engineVersion.startsWith(release + "+")) {
      throw new RefusedException(engine + " is " + engineVersion + ", and " + Software.name() + " serves " + release
          + "; install that release, or one of OrbitKV that serves yours");
    }
    if (!probe.equals(Protocol.probe())) {
      throw new RefusedException(software + " hashes the probe's chain to " + probe + ", " + Software.name() + " to "
          + Protocol.probe() + ": they would not name the same blocks");
    }
  }
}
