package io.orbitkv.pd.composition.file;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.CacheUse;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Engine;
import io.orbitkv.pd.composition.Model;
import io.orbitkv.pd.composition.NixlTransport;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Router;
import io.orbitkv.pd.composition.Transport;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads what a file means. Whether that is safe is another question. */
public final class CompositionReader {

  private static final int MOST_SECONDS = 86_400;
  private static final int MOST_RANKS = 64;

  private CompositionReader() {}

  /**
   * Reads a composition.
   *
   * @param file its name, for messages
   * @param content what it holds
   * @throws RefusedException with the line and the name of the first thing that is no setting, is missing, or has a
   *     value that cannot be
   */
  public static Composition read(String file, Setting.Table content) {
    Fields fields = new Fields(file, "", content);
    Engine engine = fields.choice("engine", List.of(Engine.values()), Engine::word, null);
    String release = fields.text("release", engine.pinnedRelease());
    Model model = model(fields.fields("model"));
    Transport transport = switch (engine) {
      case VLLM -> nixl(fields.fields("transport"));
      case SGLANG -> queues(fields.fields("transport"));
    };
    CacheUse cache = cache(fields.fields("cache"), engine);
    List<Worker> workers = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (Role role : Role.values()) {
      for (Fields worker : fields.rows(role.word())) {
        workers.add(worker(worker, role, engine));
        if (!names.add(workers.getLast().name())) {
          throw worker.refused(worker.line(), "two workers are called '" + workers.getLast().name()
              + "', expected a name of its own for each");
        }
      }
    }
    Router router = router(fields.fields("router"));
    fields.end();
    return new Composition(engine, release, model, transport, cache, workers, router);
  }

  private static Model model(Fields fields) {
    String path = fields.text("path");
    Model model = new Model(path, fields.text("served_name", path), fields.digest("digest"));
    fields.end();
    return model;
  }

  private static NixlTransport nixl(Fields fields) {
    fields.choice("name", List.of("nixl"), word -> word, "nixl");
    NixlTransport transport = new NixlTransport(
        fields.choice("mode", List.of(NixlTransport.Mode.values()), NixlTransport.Mode::word, NixlTransport.Mode.PULL),
        fields.whole("lease_s", 1, MOST_SECONDS, 30),
        fields.isSet("bidirectional", false));
    fields.end();
    return transport;
  }

  private static QueueTransport queues(Fields fields) {
    QueueTransport transport = new QueueTransport(
        fields.choice("name", List.of(QueueTransport.Backend.values()), QueueTransport.Backend::word,
            QueueTransport.Backend.MOONCAKE),
        fields.whole("bootstrap_timeout_s", 1, MOST_SECONDS, 300),
        fields.whole("waiting_timeout_s", 1, MOST_SECONDS, 300),
        fields.isSet("deferred_release", true),
        fields.whole("release_timeout_s", 1, MOST_SECONDS, 30),
        fields.isSet("early_send", false),
        fields.isSet("checksum", true),
        fields.choice("retraction", List.of(QueueTransport.Retraction.values()), QueueTransport.Retraction::word,
            QueueTransport.Retraction.CPU_TENSOR));
    fields.end();
    return transport;
  }

  private static CacheUse cache(Fields fields, Engine engine) {
    CacheUse cache = new CacheUse(
        fields.choice("sharing", List.of(CacheUse.Sharing.values()), CacheUse.Sharing::word, CacheUse.Sharing.SHARED),
        fields.whole("block_tokens", 1, 4096, engine == Engine.VLLM ? 16 : 64),
        fields.whole("defer_ms", 0, 60_000, 1000));
    fields.end();
    return cache;
  }

  private static Worker worker(Fields fields, Role role, Engine engine) {
    String name = fields.text("name");
    Worker worker = new Worker(name, role,
        fields.text("host", "127.0.0.1"),
        port(fields, "port", null),
        port(fields, "transfer_port", engine == Engine.VLLM ? 5600 : 8998),
        fields.whole("ranks", 1, MOST_RANKS, 1),
        fields.choice("cache", List.of(CacheMode.values()), CacheMode::word,
            role == Role.PREFILL ? CacheMode.READ_WRITE : CacheMode.SAVE),
        fields.absolutePath("manager"),
        fields.http("manager_http"),
        fields.optionalText("scope").orElse(""),
        options(fields),
        fields.texts("environment", "[A-Za-z_][A-Za-z0-9_]*", "the name of a variable", false));
    fields.end();
    return worker;
  }

  private static Router router(Fields fields) {
    Router router = new Router(fields.text("host", "127.0.0.1"), port(fields, "port", 8000), options(fields));
    fields.end();
    return router;
  }

  private static int port(Fields fields, String name, Integer otherwise) {
    return fields.whole(name, 1, 65_535, otherwise);
  }

  private static Map<String, String> options(Fields fields) {
    return fields.texts("options", "--[a-z][a-z0-9-]*", "an option as --max-model-len", true);
  }
}
