package io.orbitkv.cli.doctor;

import java.util.List;

/** Whether processes of engines can be seen from here, which decides how their death is proven. */
record ContainerCheck() implements Check {

  /** What the kernel calls the namespace that the machine itself runs in. */
  private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    String namespace = machine.link("/proc/self/ns/pid").orElse("unknown");
    boolean container = machine.exists("/.dockerenv") || machine.exists("/run/.containerenv")
        || machine.exists("/var/run/secrets/kubernetes.io");
    String found = (container ? "yes, " : "no, ") + (namespace.equals(FIRST_PID_NAMESPACE)
        ? "processes of the host are seen" : "processes of this pid namespace are seen");
    String needed = "any; engines in other pid namespaces are watched by the lock on their witness file";
    return List.of(Finding.ok("container", found, needed));
  }
}
