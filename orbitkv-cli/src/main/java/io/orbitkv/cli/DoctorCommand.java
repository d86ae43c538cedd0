package io.orbitkv.cli;

import io.orbitkv.api.ByteSize;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.spi.BlockStore;
import io.orbitkv.api.spi.StorageBackend;
import io.orbitkv.api.spi.StoreOptions;
import io.orbitkv.cli.doctor.Doctor;
import io.orbitkv.cli.doctor.Finding;
import io.orbitkv.cli.doctor.Finding.Verdict;
import io.orbitkv.cli.doctor.Machine;
import io.orbitkv.cli.doctor.Plan;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv doctor}. */
@Command(
    name = "doctor",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Looks whether this machine has what the cache needs, and says how to fix what is missing.",
      "",
      "Nothing is changed. A store of 16 MiB is opened and removed again to try io_uring and O_DIRECT.",
      ""
    },
    footer = {"", "Ends with 1 if a check fails."})
final class DoctorCommand implements Callable<Integer> {

  private static final long TRIAL_BYTES = 16 << 20;

  private final Terminal terminal;
  private final Machine machine;

  @Option(names = "--dir", paramLabel = "DIR", description = "Folder of the SSD tier, if there is to be one.")
  private Path directory;

  @Option(names = "--dram", paramLabel = "SIZE", description = "Memory for blocks, as 64GiB.")
  private ByteSize dram;

  @Option(names = "--runtime", paramLabel = "DIR",
      description = "Runtime folder of the Manager. Default: /dev/shm/orbitkv-USER.")
  private Path runtime = Path.of("/dev/shm", "orbitkv-" + System.getProperty("user.name"));

  @Option(names = "--json", description = "Print one JSON object instead of a table.")
  private boolean json;

  @Mixin
  private PluginOptions plugins;

  DoctorCommand(Terminal terminal, Machine machine) {
    this.terminal = terminal;
    this.machine = machine;
  }

  @Override
  public Integer call() {
    StorageBackend storage = plugins.backends().storage("io_uring");
    Path temporary = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath();
    Doctor doctor = new Doctor((parent, direct) -> refusal(storage, parent, direct), temporary);
    List<Finding> findings = doctor.examine(machine, new Plan(
        Optional.ofNullable(dram), runtime.toAbsolutePath().normalize(),
        Optional.ofNullable(directory).map(path -> path.toAbsolutePath().normalize())));
    Verdict worst = findings.stream().map(Finding::verdict).max(Comparator.naturalOrder()).orElse(Verdict.OK);
    if (json) {
      terminal.out().println(JsonOption.text(asJson(findings, worst)));
    } else {
      print(findings);
    }
    return worst == Verdict.FAIL ? ExitCode.FAILED : ExitCode.OK;
  }

  private static Optional<String> refusal(StorageBackend storage, Path parent, boolean direct) {
    try (ScratchFolder folder = ScratchFolder.in(parent)) {
      StoreOptions options = new StoreOptions(
          folder.path().resolve("store"), TRIAL_BYTES, Map.of("direct", Boolean.toString(direct)));
      BlockStore store = storage.open(options);
      store.close();
      return Optional.empty();
    } catch (OrbitKvException e) {
      return Optional.of(e.getMessage());
    }
  }

  private void print(List<Finding> findings) {
    Table table = new Table("lllll").line("", "what", "found", "needed", "fix");
    for (Finding finding : findings) {
      table.line(finding.verdict(), finding.what(), finding.found(), finding.needed(), finding.fix());
    }
    table.print(terminal.out());
  }

  private static ObjectNode asJson(List<Finding> findings, Verdict worst) {
    ObjectNode node = new JsonMapper().createObjectNode().put("verdict", lower(worst));
    ArrayNode checks = node.putArray("checks");
    for (Finding finding : findings) {
      checks.addObject()
          .put("what", finding.what())
          .put("verdict", lower(finding.verdict()))
          .put("found", finding.found())
          .put("needed", finding.needed())
          .put("fix", finding.fix());
    }
    return node;
  }

  private static String lower(Verdict verdict) {
    return verdict.name().toLowerCase(Locale.ROOT);
  }
}
