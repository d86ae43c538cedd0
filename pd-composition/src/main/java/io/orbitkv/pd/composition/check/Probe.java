package io.orbitkv.pd.composition.check;

import java.net.URI;

/** Asks processes. */
public interface Probe {

  /**
   * Asks an engine or a router.
   *
   * @param server where it listens
   * @param path what is asked for, as {@code /health}
   * @return its answer; silence after a bounded time
   */
  Answer ask(URI server, String path) throws InterruptedException;

  /**
   * Asks a Manager for its status.
   *
   * @param manager where it listens
   * @return its status; silence also if it gave none
   */
  Answer status(URI manager) throws InterruptedException;
}
