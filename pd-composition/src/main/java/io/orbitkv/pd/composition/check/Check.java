package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Worker;
import java.util.ArrayList;
import java.util.List;

/** Compares a running composition with its file. */
public final class Check {

  private Check() {}

  /**
   * Asks every process.
   *
   * @param composition that breaks no rule
   * @param probe asks
   * @return what each question came to: workers, their Managers, the router
   */
  public static List<Finding> run(Composition composition, Probe probe) throws InterruptedException {
    List<Finding> findings = new ArrayList<>();
    for (Worker worker : composition.workers()) {
      Answer health = probe.ask(worker.http(), "/health");
      boolean isUp = health instanceof Answer.Said said && said.status() == 200;
      findings.add(isUp
          ? Finding.ok(worker.title() + ", health", "200 at " + worker.http())
          : Finding.fail(worker.title() + ", health", Answers.instead(health), "200 at " + worker.http(),
              "start it as 'orbitkv pd plan' says"));
      if (isUp) {
        findings.addAll(switch (composition.engine()) {
          case VLLM -> VllmCheck.of(composition, worker, probe);
          case SGLANG -> SglangCheck.of(composition, worker, probe);
        });
      }
    }
    findings.addAll(ManagerCheck.of(composition, probe));
    Answer router = probe.ask(composition.router().http(), "/health");
    findings.add(router instanceof Answer.Said said && said.status() == 200
        ? Finding.ok("router, health", "200 at " + composition.router().http())
        : Finding.fail("router, health", Answers.instead(router), "200 at " + composition.router().http(),
            "start it as 'orbitkv pd plan' says, when the workers are up"));
    return findings;
  }
}
