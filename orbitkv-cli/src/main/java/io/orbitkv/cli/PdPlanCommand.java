package io.orbitkv.cli;

import io.orbitkv.cli.pd.JsonSettings;
import io.orbitkv.cli.terminal.Terminal;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.file.CompositionReader;
import io.orbitkv.pd.composition.plan.Planner;
import io.orbitkv.pd.composition.plan.ProcessPlan;
import io.orbitkv.pd.composition.rule.Rules;
import io.orbitkv.pd.composition.rule.Violation;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code orbitkv pd plan}. */
@Command(
    name = "plan",
    mixinStandardHelpOptions = true,
    versionProvider = OrbitKv.Version.class,
    description = {
      "Prints what to start: the environment and the command line of every prefill, decode and router process.",
      "",
      "Nothing is started, asked or changed. What is unsafe is refused, each with its reason in a line.",
      ""
    },
    footer = {"", "Ends with 2 if the composition is refused."})
final class PdPlanCommand implements Callable<Integer> {

  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The composition, as JSON. It may have comments.")
  private Path file;

  @Option(names = "--json", description = "Print one JSON object.")
  private boolean json;

  PdPlanCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    Composition composition = CompositionReader.read(file.toString(), JsonSettings.read(file));
    List<Violation> broken = Rules.broken(composition);
    if (!broken.isEmpty()) {
      broken.forEach(violation -> terminal.err().println(file + ": " + violation.line()));
      return ExitCode.USAGE;
    }
    List<ProcessPlan> plans = Planner.plan(composition);
    Planner.notes(composition).forEach(note -> terminal.err().println(file + ": " + note));
    if (json) {
      terminal.out().println(JsonOption.text(asJson(plans)));
    } else {
      plans.forEach(plan -> {
        terminal.out().println("# " + plan.title() + " on " + plan.host());
        terminal.out().println(plan.shell());
        terminal.out().println();
      });
    }
    return ExitCode.OK;
  }

  private static ObjectNode asJson(List<ProcessPlan> plans) {
    ObjectNode node = new JsonMapper().createObjectNode();
    ArrayNode processes = node.putArray("processes");
    for (ProcessPlan plan : plans) {
      ObjectNode process = processes.addObject().put("title", plan.title()).put("host", plan.host());
      ObjectNode environment = process.putObject("environment");
      plan.environment().forEach(environment::put);
      ArrayNode command = process.putArray("command");
      plan.command().forEach(command::add);
    }
    return node;
  }
}
