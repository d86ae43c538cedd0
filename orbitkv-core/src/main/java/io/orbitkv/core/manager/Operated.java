package io.orbitkv.core.manager;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Namespace;
import java.time.Duration;

/**
 * A Manager as its operator sees it.
 *
 * <p>Thread-safe. No method waits for a member; only {@link #flush} waits for the SSD.
 */
public interface Operated {

  /**
   * Returns what the Manager is doing now: one consistent picture, taken in one turn of the core. Also answers after the
   * Manager was closed, with {@link ManagerStatus#ready} false.
   */
  ManagerStatus status();

  /**
   * Admits nothing new from now on: queries answer busy, reserves want nothing, registrations are refused. Grants that
   * are held go on until their holders end them. There is no way back but a restart. Draining again changes nothing.
   */
  void drain();

  /**
   * Waits until the blocks that are visible now are on the SSD.
   *
   * @param limit the longest to wait
   * @return whether everything was written; true without an SSD, where there is nothing to write
   * @throws InterruptedException if the thread was interrupted
   */
  boolean flush(Duration limit) throws InterruptedException;

  /**
   * Evicts from memory what its policy would evict first, until so many bytes were freed or nothing more can leave. What
   * is leased or being transferred stays. Blocks on the SSD stay there.
   *
   * @param bytes how much to free
   * @return bytes freed
   */
  long evict(ByteSize bytes);

  /**
   * Gives up every block of a namespace that nothing holds, in memory and on the SSD.
   *
   * @param namespace whose blocks; one that is unknown has none
   * @return blocks dropped
   */
  long drop(Namespace namespace);
}
