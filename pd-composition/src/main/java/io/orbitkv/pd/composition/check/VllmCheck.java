package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a vLLM server says of itself: its release, its models, and in its metrics the cache that it was given. */
final class VllmCheck {

  private static final Pattern CACHE = Pattern.compile("(?m)^vllm:cache_config_info\\{([^}]*)\\}");
  private static final String RESTART = "restart it as 'orbitkv pd plan' says";

  private VllmCheck() {}

  static List<Finding> of(Composition composition, Worker worker, Probe probe) throws InterruptedException {
    List<Finding> findings = new ArrayList<>();
    String whose = worker.title() + ", ";
    String release = Answers.text(probe.ask(worker.http(), "/version"), "version");
    // A build for other hardware has a suffix.
    findings.add(Finding.of(whose + "release", release.replaceFirst("\\+.*", ""), composition.release(),
        "install vllm==" + composition.release()));
    Answer models = probe.ask(worker.http(), "/v1/models");
    List<String> served = Answers.row(models, "data").stream().map(model -> Answers.text(model, "id")).toList();
    findings.add(served.contains(composition.model().servedName())
        ? Finding.ok(whose + "model", composition.model().servedName())
        : Finding.fail(whose + "model", served.isEmpty() ? Answers.instead(models) : String.join(", ", served),
            composition.model().servedName(), RESTART));
    Answer metrics = probe.ask(worker.http(), "/metrics");
    String text = metrics instanceof Answer.Said said && said.status() == 200 ? said.body() : "";
    findings.add(Finding.of(whose + "block_size", label(text, "block_size"),
        Integer.toString(composition.cache().blockTokens()), RESTART));
    findings.add(has(whose + "NixlConnector", text, "vllm:nixl_", true));
    findings.add(has(whose + "OrbitKvConnector", text, "vllm:orbitkv_", worker.mode() != CacheMode.OFF));
    return findings;
  }

  private static String label(String metrics, String name) {
    Matcher cache = CACHE.matcher(metrics);
    if (!cache.find()) {
      return "nothing in its metrics";
    }
    Matcher label = Pattern.compile("(?:^|,)" + Pattern.quote(name) + "=\"([^\"]*)\"").matcher(cache.group(1));
    return label.find() ? label.group(1) : "nothing in its metrics";
  }

  private static Finding has(String what, String metrics, String prefix, boolean expected) {
    boolean found = metrics.contains("\n" + prefix) || metrics.startsWith(prefix);
    return Finding.of(what, found ? "loaded" : "not loaded", expected ? "loaded" : "not loaded", RESTART);
  }
}
