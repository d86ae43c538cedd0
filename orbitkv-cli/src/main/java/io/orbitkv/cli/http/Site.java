package io.orbitkv.cli.http;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.manager.Operated;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Answers requests. Checks come in this order: the name that was asked for, the body, the path, the method, the token;
 * a request that fails one has no effect.
 */
final class Site implements HttpHandler {

  private static final Logger LOG = System.getLogger(Site.class.getName());
  private static final String READS = "GET, HEAD";

  private final Operated manager;
  private final HttpSettings settings;
  private final Optional<Token> token;
  private final HostNames names;
  private final Refusals refusals;
  private final Map<String, Supplier<Response>> pages;
  private final Map<String, AdminVerb> verbs = new HashMap<>();

  /**
   * @param manager what is shown and operated
   * @param settings where it listens
   * @param token what admin verbs need, and beyond loopback everything
   * @param epochMillis the time of day
   */
  Site(Operated manager, HttpSettings settings, Optional<Token> token, LongSupplier epochMillis) {
    this.manager = manager;
    this.settings = settings;
    this.token = token;
    this.names = new HostNames(settings.address());
    this.refusals = new Refusals(LOG, System::nanoTime);
    StatusPage page = new StatusPage();
    this.pages = Map.of(
        "/", page::response,
        "/status", page::response,
        "/status.json", () -> Response.json(200, StatusJson.of(manager.status(), epochMillis.getAsLong())),
        "/metrics", () -> Metrics.of(manager.status()),
        "/health", () -> Health.overall(manager.status()),
        "/health/live", () -> Health.live(manager.status()),
        "/health/ready", () -> Health.ready(manager.status()));
    for (AdminVerb verb : AdminVerb.values()) {
      verbs.put(verb.path(), verb);
    }
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      answer(exchange).send(exchange);
    }
  }

  private Response answer(HttpExchange exchange) {
    try {
      return checked(exchange);
    } catch (RefusedException e) {
      return Response.error(400, e.getMessage());
    } catch (OrbitKvException e) {
      return Response.error(503, e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Response.error(503, "the server is being stopped");
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "HTTP request failed unexpectedly: " + e, e);
      return Response.error(500, "unexpected; the Manager's log says more");
    }
  }

  private Response checked(HttpExchange exchange) throws InterruptedException {
    String host = exchange.getRequestHeaders().getFirst("Host");
    // TLS binds the connection to a certificate, which a foreign name has not.
    if (settings.keyStore().isEmpty() && !names.include(host)) {
      return Response.error(
          421, "this server is not '" + host + "'; ask for it as " + settings.address().getHostString());
    }
    if (hasBody(exchange)) {
      return Response.error(413, "a request to this server has no body").with(Map.of("Connection", "close"));
    }
    String path = exchange.getRequestURI().getPath();
    Supplier<Response> page = pages.get(path);
    AdminVerb verb = verbs.get(path);
    if (page == null && verb == null) {
      return Response.error(404, "there is nothing here; see /status, /status.json, /health and /metrics");
    }
    String method = exchange.getRequestMethod();
    if (page != null && !method.equals("GET") && !method.equals("HEAD")) {
      return Response.error(405, "this can only be read").with(Map.of("Allow", READS));
    }
    if (verb != null && !method.equals("POST")) {
      return Response.error(405, "this changes the Manager, which takes a POST").with(Map.of("Allow", "POST"));
    }
    return page != null ? read(exchange, path, page) : operate(exchange, path, verb);
  }

  private Response read(HttpExchange exchange, String path, Supplier<Response> page) {
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    if (!settings.isLoopback()
        && !token.orElseThrow().isBorneBy(authorization) && !token.get().isPasswordOf(authorization)) {
      if (authorization != null) {
        refusals.wrongToken(sender(exchange), path);
      }
      return Response.error(401, "this needs the token, as a bearer's or as the password of any user")
          .with(Map.of("WWW-Authenticate", "Basic realm=\"orbitkv\""));
    }
    return page.get();
  }

  /** Takes a bearer's token alone: a browser sends a password by itself, also when a foreign page made it ask. */
  private Response operate(HttpExchange exchange, String path, AdminVerb verb) throws InterruptedException {
    if (token.isEmpty()) {
      return Response.error(403, "admin verbs are off, since the Manager was started without --admin-token-file");
    }
    if (!token.get().isBorneBy(exchange.getRequestHeaders().getFirst("Authorization"))) {
      refusals.wrongToken(sender(exchange), path);
      return Response.error(401, "this needs the token: Authorization: Bearer TOKEN")
          .with(Map.of("WWW-Authenticate", "Bearer realm=\"orbitkv\""));
    }
    String query = exchange.getRequestURI().getRawQuery();
    Response response = verb.run(manager, query);
    LOG.log(Level.INFO,
        "HTTP " + path + (query == null ? "" : "?" + query) + " from " + sender(exchange) + " was done");
    return response;
  }

  private static boolean hasBody(HttpExchange exchange) {
    String length = exchange.getRequestHeaders().getFirst("Content-Length");
    return exchange.getRequestHeaders().containsKey("Transfer-Encoding") || (length != null && !length.equals("0"));
  }

  private static String sender(HttpExchange exchange) {
    return exchange.getRemoteAddress().getAddress().getHostAddress();
  }
}
