package io.orbitkv.cli.http;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * An answer to one request.
 *
 * @param status of HTTP
 * @param type of the body
 * @param body small, and complete before the first byte is sent
 * @param headers more of them
 */
record Response(int status, String type, byte[] body, Map<String, String> headers) {

  static Response json(int status, JsonNode body) {
    return new Response(status, "application/json", (body + "\n").getBytes(StandardCharsets.UTF_8), Map.of());
  }

  /** Says in one line why something was not done. */
  static Response error(int status, String line) {
    return json(status, new JsonMapper().createObjectNode().put("error", line));
  }

  Response with(Map<String, String> more) {
    return new Response(status, type, body, more);
  }

  /** Sends it; to HEAD, all but the body. */
  void send(HttpExchange exchange) throws IOException {
    Headers sent = exchange.getResponseHeaders();
    sent.set("Content-Type", type);
    sent.set("Cache-Control", "no-store");
    sent.set("X-Content-Type-Options", "nosniff");
    sent.set("Referrer-Policy", "no-referrer");
    sent.set("Cross-Origin-Resource-Policy", "same-origin");
    headers.forEach(sent::set);
    if (exchange.getRequestMethod().equals("HEAD")) {
      sent.set("Content-Length", Integer.toString(body.length));
      exchange.sendResponseHeaders(status, -1);
      return;
    }
    exchange.sendResponseHeaders(status, body.length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(body);
    }
  }
}
