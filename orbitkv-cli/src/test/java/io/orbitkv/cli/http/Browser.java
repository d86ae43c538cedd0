package io.orbitkv.cli.http;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** One tab of a headless Chromium, driven through its DevTools protocol. */
final class Browser implements AutoCloseable {

  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome", "google-chrome-stable");
  private static final Pattern LISTENING = Pattern.compile("DevTools listening on (ws://\\S+)");
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final JsonMapper json = new JsonMapper();
  private final AtomicInteger calls = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonNode>> pending = new ConcurrentHashMap<>();
  private final AtomicReference<CompletableFuture<Void>> loaded = new AtomicReference<>(new CompletableFuture<>());
  private final List<String> complaints = new CopyOnWriteArrayList<>();
  private final Process process;
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private final String session;

  /**
   * Starts a browser.
   *
   * @param program where it is
   * @param profile an empty folder for what it keeps
   */
  Browser(Path program, Path profile) throws IOException {
    process = new ProcessBuilder(program.toString(), "--headless=new", "--no-sandbox", "--disable-gpu",
        "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
        "--remote-debugging-port=0", "--user-data-dir=" + profile, "about:blank")
        .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    socket = http.newWebSocketBuilder().connectTimeout(LIMIT).buildAsync(listeningAt(), new Listener()).join();
    String target =
        call(null, "Target.createTarget", node -> node.put("url", "about:blank")).get("targetId").stringValue();
    session = call(null, "Target.attachToTarget", node -> node.put("targetId", target).put("flatten", true))
        .get("sessionId").stringValue();
    for (String domain : List.of("Page", "Runtime", "Log")) {
      call(session, domain + ".enable", node -> {});
    }
  }

  /** Returns where the machine has one that this class can drive. */
  static Optional<Path> installed() {
    return Stream.of(System.getenv("PATH").split(":"))
        .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Sets the window, and whether the system prefers dark colours. */
  void look(int width, int height, boolean dark) {
    call(session, "Emulation.setDeviceMetricsOverride", node -> node.put("width", width).put("height", height)
        .put("deviceScaleFactor", 1).put("mobile", width < 500));
    call(session, "Emulation.setEmulatedMedia", node -> node.putArray("features").addObject()
        .put("name", "prefers-color-scheme").put("value", dark ? "dark" : "light"));
  }

  /** Opens a page and waits until it is loaded; forgets what the one before complained of. */
  void open(URI page) {
    complaints.clear();
    CompletableFuture<Void> load = new CompletableFuture<>();
    loaded.set(load);
    call(session, "Page.navigate", node -> node.put("url", page.toString()));
    load.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
  }

  /** Returns what an expression of JavaScript, or the promise it gives, has for a value. */
  JsonNode value(String expression) {
    JsonNode answer = call(session, "Runtime.evaluate", node ->
        node.put("expression", expression).put("returnByValue", true).put("awaitPromise", true));
    if (answer.has("exceptionDetails")) {
      throw new AssertionError(expression + ": " + answer.get("exceptionDetails"));
    }
    return answer.at("/result/value");
  }

  /** Returns the text of an element. */
  String text(String id) {
    return value("document.getElementById('" + id + "').textContent").stringValue();
  }

  /** Waits in the page until a condition holds. */
  void await(String condition) {
    JsonNode held = value("""
        new Promise(done => {
          const end = Date.now() + 60000;
          const look = () => {
            if (%s) done(true);
            else if (Date.now() > end) done(false);
            else setTimeout(look, 20);
          };
          look();
        })""".formatted(condition));
    if (!held.booleanValue()) {
      throw new AssertionError("not true after 60 s: " + condition + "; the page has "
          + value("document.body.innerText") + " and complained " + complaints);
    }
  }

  /** Returns errors and warnings of the console, uncaught exceptions and violations of the policy. */
  List<String> complaints() {
    return new ArrayList<>(complaints);
  }

  void photograph(Path file) throws IOException {
    String picture = call(session, "Page.captureScreenshot", node -> node.put("captureBeyondViewport", true))
        .get("data").stringValue();
    Files.write(file, Base64.getDecoder().decode(picture));
  }

  @Override
  public void close() {
    try {
      call(null, "Browser.close", node -> {});
      process.waitFor(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      http.shutdownNow();
    }
  }

  private URI listeningAt() throws IOException {
    BufferedReader err = process.errorReader();
    StringBuilder said = new StringBuilder();
    for (String line = err.readLine(); line != null; line = err.readLine()) {
      Matcher listening = LISTENING.matcher(line);
      if (listening.find()) {
        // What it says later would fill the pipe and stop it.
        Thread.ofPlatform().daemon().start(() -> err.lines().forEach(ignored -> {}));
        return URI.create(listening.group(1));
      }
      said.append(line).append('\n');
    }
    throw new IOException("the browser ended:\n" + said);
  }

  private JsonNode call(String inSession, String method, Consumer<ObjectNode> parameters) {
    int id = calls.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    pending.put(id, answer);
    ObjectNode message = json.createObjectNode().put("id", id).put("method", method);
    if (inSession != null) {
      message.put("sessionId", inSession);
    }
    parameters.accept(message.putObject("params"));
    socket.sendText(message.toString(), true).join();
    return answer.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
  }

  private void received(JsonNode message) {
    if (message.has("id")) {
      CompletableFuture<JsonNode> answer = pending.remove(message.get("id").intValue());
      if (message.has("error")) {
        answer.completeExceptionally(new AssertionError(message.get("error").toString()));
      } else {
        answer.complete(message.get("result"));
      }
      return;
    }
    switch (message.path("method").asString("")) {
      case "Page.loadEventFired" -> loaded.get().complete(null);
      case "Runtime.exceptionThrown" -> complaints.add(message.at("/params/exceptionDetails").toString());
      case "Log.entryAdded" -> complain(message.at("/params/entry/level"), message.at("/params/entry/text"));
      case "Runtime.consoleAPICalled" -> complain(message.at("/params/type"), message.at("/params/args"));
      default -> { }
    }
  }

  private void complain(JsonNode level, JsonNode text) {
    if (List.of("error", "warning", "assert").contains(level.asString(""))) {
      complaints.add(text.toString());
    }
  }

  /** Puts the parts of messages together. */
  private final class Listener implements WebSocket.Listener {

    private final StringBuilder message = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      message.append(data);
      if (last) {
        received(json.readTree(message.toString()));
        message.setLength(0);
      }
      from.request(1);
      return null;
    }
  }
}
