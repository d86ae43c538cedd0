package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.RefusedException;
import io.orbitkv.api.spi.StoreInspection;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.core.EmbeddedCache.Builder;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv inspect}. */
@Command(
    name = "inspect",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Tells what a store's folder holds.",
      "",
      "Nothing is locked or changed: the store may be in use, or damaged. Damage is counted, not an error.",
      ""
    })
final class InspectCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Parameters(paramLabel = "DIR", description = "The store's folder.")
  private Path directory;

  @Option(names = "--storage", paramLabel = "NAME", defaultValue = Builder.DEFAULT_STORAGE,
      description = "Backend of the store. Default: ${DEFAULT-VALUE}, which also reads what 'file' wrote.")
  private String storage;

  @Option(names = "--json", description = "Print one JSON object instead of tables.")
  private boolean json;

  @Mixin
  private PluginOptions plugins;

  InspectCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    if (!Files.isDirectory(directory)) {
      throw new RefusedException("'" + directory + "' is not a folder");
    }
    StoreInspection inspection = plugins.backends().storage(storage).inspect(directory);
    if (json) {
      terminal.out().println(JsonOption.text(asJson(inspection)));
    } else {
      print(inspection, terminal.out());
    }
    return ExitCode.OK;
  }

  private static void print(StoreInspection inspection, PrintWriter out) {
    Table facts = new Table("ll");
    inspection.facts().forEach(facts::line);
    facts.line("intact extents", String.format(Locale.ROOT, "%,d", inspection.extents()))
        .line("payload", new ByteSize(inspection.payloadBytes()))
        .line("not trusted", inspection.dropped().isEmpty() ? "nothing" : inspection.dropped())
        .print(out);
    Table segments = new Table("rrlrr").line("segment", "generation", "state", "extents", "payload");
    for (StoreInspection.Segment segment : inspection.segments()) {
      segments.line(segment.index(), segment.generation(), segment.state().name().toLowerCase(Locale.ROOT),
          segment.extents(), new ByteSize(segment.payloadBytes()));
    }
    out.println();
    segments.print(out);
  }

  private static ObjectNode asJson(StoreInspection inspection) {
    ObjectNode node = new JsonMapper().createObjectNode();
    ObjectNode facts = node.putObject("facts");
    inspection.facts().forEach(facts::put);
    node.put("extents", inspection.extents()).put("payload_bytes", inspection.payloadBytes());
    ObjectNode dropped = node.putObject("dropped");
    inspection.dropped().forEach(dropped::put);
    ArrayNode segments = node.putArray("segments");
    for (StoreInspection.Segment segment : inspection.segments()) {
      segments.addObject()
          .put("index", segment.index())
          .put("generation", segment.generation())
          .put("state", segment.state().name().toLowerCase(Locale.ROOT))
          .put("extents", segment.extents())
          .put("payload_bytes", segment.payloadBytes());
    }
    return node;
  }
}
