package io.orbitkv.cli;

import io.orbitkv.cli.pd.HttpProbe;
import io.orbitkv.cli.pd.JsonSettings;
import io.orbitkv.cli.terminal.Table;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.check.Check;
import io.orbitkv.pd.composition.check.Finding;
import io.orbitkv.pd.composition.check.Finding.Verdict;
import io.orbitkv.pd.composition.file.CompositionReader;
import io.orbitkv.pd.composition.rule.Rules;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv pd check}. */
@Command(
    name = "check",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Asks every worker, Manager and router of a composition whether it is what the file says.",
      "",
      "Nothing is changed. Engines are asked for their health, release, model and settings, Managers for their status.",
      ""
    },
    footer = {"", "Ends with 1 if something is not as the file says, with 2 if the file is refused."})
final class PdCheckCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The composition, as for 'orbitkv pd plan'.")
  private Path file;

  @Option(names = "--limit", paramLabel = "SECONDS", defaultValue = "30",
      description = "How long an answer may take. Default: ${DEFAULT-VALUE}.")
  private int limitSeconds;

  @Option(names = "--token-file", paramLabel = "FILE",
      description = "Private file with the Managers' token, which they want beyond their own host.")
  private Path tokenFile;

  @Option(names = "--tls-ca", paramLabel = "FILE",
      description = "PEM certificates that the Managers' are to be signed by. Default: those that Java trusts.")
  private Path trusted;

  @Option(names = "--json", description = "Print one JSON object instead of a table.")
  private boolean json;

  PdCheckCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    Composition composition = CompositionReader.read(file.toString(), JsonSettings.read(file));
    Rules.require(composition);
    List<Finding> findings;
    try (HttpProbe probe = new HttpProbe(
        Duration.ofSeconds(Math.max(1, limitSeconds)), Optional.ofNullable(tokenFile), Optional.ofNullable(trusted))) {
      findings = Check.run(composition, probe);
    }
    boolean failed = findings.stream().anyMatch(finding -> finding.verdict() == Verdict.FAIL);
    if (json) {
      terminal.out().println(JsonOption.text(asJson(findings, failed)));
    } else {
      Table table = new Table("lllll").line("", "what", "found", "expected", "fix");
      findings.forEach(finding ->
          table.line(finding.verdict(), finding.what(), finding.found(), finding.expected(), finding.fix()));
      table.print(terminal.out());
    }
    return failed ? ExitCode.FAILED : ExitCode.OK;
  }

  private static ObjectNode asJson(List<Finding> findings, boolean failed) {
    ObjectNode node = new JsonMapper().createObjectNode().put("verdict", failed ? "fail" : "ok");
    ArrayNode checks = node.putArray("checks");
    for (Finding finding : findings) {
      checks.addObject()
          .put("what", finding.what())
          .put("verdict", finding.verdict().name().toLowerCase(Locale.ROOT))
          .put("found", finding.found())
          .put("expected", finding.expected())
          .put("fix", finding.fix());
    }
    return node;
  }
}
