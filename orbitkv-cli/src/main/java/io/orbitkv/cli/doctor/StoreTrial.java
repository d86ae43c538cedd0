package io.orbitkv.cli.doctor;

import java.nio.file.Path;
import java.util.Optional;

/** Opens a small store for a moment, which is the one sure way to know whether the machine grants it. */
public interface StoreTrial {

  /**
   * Tries through io_uring.
   *
   * @param parent where a folder for it is made and removed again
   * @param direct whether transfers shall bypass the page cache
   * @return why it was refused; empty if it was not
   */
  Optional<String> refusal(Path parent, boolean direct);
}
