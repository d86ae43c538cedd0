package io.orbitkv.cli.http;

import io.orbitkv.core.manager.ManagerStatus;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Health for a supervisor. That the core gave a status at all is the proof of life: a stuck one never answers. */
final class Health {

  private Health() {}

  /** Returns 200 if the Manager can be sent work, else 503; degraded is no reason not to send it. */
  static Response overall(ManagerStatus status) {
    ObjectNode body = body(status);
    ArrayNode reasons = body.putArray("degraded");
    status.degraded().forEach(reasons::add);
    return Response.json(status.ready() ? 200 : 503, body);
  }

  static Response ready(ManagerStatus status) {
    return Response.json(status.ready() ? 200 : 503, body(status));
  }

  static Response live(ManagerStatus status) {
    return Response.json(200, body(status));
  }

  private static ObjectNode body(ManagerStatus status) {
    return new JsonMapper().createObjectNode()
        .put("live", true)
        .put("ready", status.ready())
        .put("draining", status.draining());
  }
}
