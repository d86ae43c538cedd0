package io.orbitkv.cli.doctor;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** GPUs that this process can see. A Manager needs none; an agent beside an engine does. */
record GpuCheck() implements Check {

  /** What the kernel calls the namespaces that the machine itself runs in. */
  private static final String FIRST_IPC_NAMESPACE = "ipc:[4026531839]";

  private static final String NEEDED = "nothing here; an agent beside an engine needs its GPU";

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    List<String> devices = machine.names("/dev", "nvidia[0-9]*");
    Optional<String> driver = machine.text("/proc/driver/nvidia/version")
        .flatMap(text -> text.lines().findFirst())
        .map(line -> line.replaceFirst("^NVRM version:\\s*", "").replaceAll("\\s+", " "));
    if (devices.isEmpty()) {
      String found = driver.map(version -> "a driver and no device: " + version).orElse("none");
      return List.of(Finding.ok("GPUs", found, NEEDED));
    }
    List<Finding> findings = new ArrayList<>();
    String found = devices.size() + " (" + String.join(", ", devices) + ")";
    findings.add(driver.isPresent()
        ? Finding.ok("GPUs", found + ", " + driver.get(), NEEDED)
        : Finding.warn("GPUs", found + ", no driver", NEEDED, "load the nvidia kernel module"));
    findings.add(sharing(machine));
    return findings;
  }

  /** Memory of a GPU is handed from process to process through these devices, within one IPC namespace. */
  private static Finding sharing(Machine machine) {
    String needed = "an agent and its engine in one IPC namespace, with these devices";
    List<String> missing = List.of("nvidiactl", "nvidia-uvm").stream()
        .filter(device -> !machine.isReadableAndWritable("/dev/" + device))
        .toList();
    if (!missing.isEmpty()) {
      return Finding.warn("GPU IPC", "not usable: /dev/" + String.join(", /dev/", missing), needed,
          "start the container with the NVIDIA runtime, or load nvidia-uvm (nvidia-modprobe -u)");
    }
    String namespace = machine.link("/proc/self/ns/ipc").orElse("unknown");
    return Finding.ok("GPU IPC", namespace.equals(FIRST_IPC_NAMESPACE)
        ? "in the machine's IPC namespace" : "in an IPC namespace of its own, " + namespace, needed);
  }
}
