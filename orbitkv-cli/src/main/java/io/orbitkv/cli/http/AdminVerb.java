package io.orbitkv.cli.http;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.core.manager.Operated;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What an operator can have done. */
enum AdminVerb {
  DRAIN(Set.of()) {
    @Override
    void on(Operated manager, Parameters parameters, ObjectNode result) {
      manager.drain();
      result.put("draining", true);
    }
  },
  FLUSH(Set.of()) {
    @Override
    void on(Operated manager, Parameters parameters, ObjectNode result) throws InterruptedException {
      result.put("all_written", manager.flush(FLUSH_LIMIT));
    }
  },
  EVICT(Set.of("bytes")) {
    @Override
    void on(Operated manager, Parameters parameters, ObjectNode result) {
      result.put("bytes_freed", manager.evict(ByteSize.parse(parameters.required("bytes"))));
    }
  },
  DROP(Set.of("namespace")) {
    @Override
    void on(Operated manager, Parameters parameters, ObjectNode result) {
      Namespace namespace = new Namespace(Digest.ofHex(parameters.required("namespace")));
      result.put("blocks_dropped", manager.drop(namespace));
    }
  };

  /** Below the time after which the server gives an answer up. */
  static final Duration FLUSH_LIMIT = Duration.ofSeconds(30);

  private final Set<String> parameters;

  AdminVerb(Set<String> parameters) {
    this.parameters = parameters;
  }

  abstract void on(Operated manager, Parameters parameters, ObjectNode result) throws InterruptedException;

  String path() {
    return "/admin/" + name().toLowerCase(Locale.ROOT);
  }

  /**
   * Carries it out.
   *
   * @param query the parameters as they were sent, null if there are none
   * @throws io.orbitkv.api.RefusedException if a parameter is wrong; then nothing was done
   */
  Response run(Operated manager, String query) throws InterruptedException {
    ObjectNode result = new JsonMapper().createObjectNode();
    on(manager, new Parameters(query, parameters), result);
    return Response.json(200, result);
  }
}
