package io.example.engine;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.core.agent.AdapterOptions;
import io.orbitkv.core.agent.EngineAdapter;
import io.orbitkv.core.agent.SchedulerEndpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Shows with files what it was opened with, and that it was closed. */
public final class StandInAdapter implements EngineAdapter {

  /** Opens nothing. */
  public StandInAdapter() {}

  @Override
  public String name() {
    return "stand-in";
  }

  @Override
  public SchedulerEndpoint open(AdapterOptions options) {
    try {
      Files.createFile(options.socket());
      Files.createDirectories(options.state());
    } catch (IOException e) {
      throw new UnavailableException("not opened: " + e, e);
    }
    return new SchedulerEndpoint() {
      @Override
      public Path socket() {
        return options.socket();
      }

      @Override
      public void close() {
        try {
          Files.move(options.socket(), options.state().resolve("closed"));
        } catch (IOException e) {
          throw new UnavailableException("not closed: " + e, e);
        }
      }
    };
  }
}
