package io.orbitkv.pd.composition.check;

import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import io.orbitkv.pd.composition.file.Setting;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the Managers say: that they serve, which instances are attached, and under which namespaces. An instance has a
 * name of its engine's own, so instances are counted, not told apart.
 */
final class ManagerCheck {

  private ManagerCheck() {}

  static List<Finding> of(Composition composition, Probe probe) throws InterruptedException {
    Map<URI, List<Worker>> users = composition.workers().stream()
        .filter(worker -> worker.mode() != CacheMode.OFF && worker.managerHttp().isPresent())
        .collect(Collectors.groupingBy(worker -> worker.managerHttp().orElseThrow(), LinkedHashMap::new,
            Collectors.toList()));
    List<Finding> findings = new ArrayList<>();
    for (Map.Entry<URI, List<Worker>> entry : users.entrySet()) {
      findings.addAll(of(composition, entry.getKey(), entry.getValue(), probe.status(entry.getKey())));
    }
    return findings;
  }

  private static List<Finding> of(Composition composition, URI manager, List<Worker> users, Answer status) {
    String whose = "Manager at " + manager + ", ";
    List<Finding> findings = new ArrayList<>();
    findings.add(Finding.of(whose + "ready", Answers.text(status, "ready"), "true",
        "start it before the engines, or look at its log"));
    if (Answers.at(status, "instances").isEmpty()) {
      return findings;
    }
    List<Setting> degraded = Answers.row(status, "degraded");
    if (!degraded.isEmpty()) {
      findings.add(Finding.warn(whose + "degraded",
          degraded.stream().map(Answers::text).collect(Collectors.joining(", ")), "nothing", "look at its log"));
    }
    long left = Answers.row(status, "quarantine").stream().mapToLong(one -> Answers.whole(one, "bytes")).sum();
    if (left > 0) {
      findings.add(Finding.warn(whose + "quarantine", left + " bytes", "0 bytes",
          "end what 'orbitkv status' says it waits for"));
    }
    Map<String, Long> namespaces = Answers.row(status, "instances").stream()
        .filter(instance -> Answers.text(instance, "state").equals("open"))
        .collect(Collectors.groupingBy(instance -> Answers.text(instance, "namespace"), Collectors.counting()));
    findings.add(composition.cache().sharing() == Sharing.SHARED
        ? shared(whose, users.size(), namespaces)
        : separate(whose, users, namespaces));
    return findings;
  }

  private static Finding shared(String whose, int users, Map<String, Long> namespaces) {
    long together = namespaces.values().stream().mapToLong(Long::longValue).max().orElse(0);
    return together >= users
        ? Finding.ok(whose + "namespaces", together + " instances in one namespace")
        : Finding.fail(whose + "namespaces", "at most " + together + " instances in one namespace of "
            + namespaces.size(), users + " instances in one namespace",
            "compare what decides the names of prefill and decode: ranks, dtype, layout, block size, scope, model; an"
                + " instance attaches with its engine's first requests");
  }

  private static Finding separate(String whose, List<Worker> users, Map<String, Long> namespaces) {
    long attached = namespaces.values().stream().mapToLong(Long::longValue).sum();
    boolean bothRoles = users.stream().map(Worker::role).distinct().count() == Role.values().length;
    int least = bothRoles ? 2 : 1;
    return attached >= users.size() && namespaces.size() >= least
        ? Finding.ok(whose + "namespaces", attached + " instances in " + namespaces.size() + " namespaces")
        : Finding.fail(whose + "namespaces", attached + " instances in " + namespaces.size() + " namespaces",
            users.size() + " instances in " + least + " namespaces or more",
            "give each role a scope of its own; an instance attaches with its engine's first requests");
  }
}
