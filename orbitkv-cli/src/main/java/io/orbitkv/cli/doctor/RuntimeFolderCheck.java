package io.orbitkv.cli.doctor;

import io.orbitkv.api.ByteSize;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The file system of the runtime folder, which the memory for blocks is a file of. */
record RuntimeFolderCheck() implements Check {

  @Override
  public List<Finding> look(Machine machine, Plan plan) {
    Path folder = plan.runtime();
    String what = "runtime folder";
    String needed = "tmpfs or hugetlbfs with " + plan.neededMemory();
    Optional<Mount> mount = Mount.of(folder, machine);
    Optional<Machine.Space> space = machine.space(folder);
    if (mount.isEmpty() || space.isEmpty()) {
      return List.of(Finding.warn(what, folder + ", of an unknown file system", needed, "look at df " + folder));
    }
    String found = mount.get().type() + " at " + mount.get().at() + ", " + new ByteSize(space.get().usableBytes())
        + " free of " + new ByteSize(space.get().totalBytes());
    if (!mount.get().isMemory()) {
      return List.of(Finding.fail(what, found, needed, "choose a folder in /dev/shm, or mount a tmpfs there"));
    }
    return List.of(plan.exceeds(space.get().usableBytes())
        ? Finding.fail(what, found, needed, "mount -o remount,size=... " + mount.get().at()
            + ", --shm-size of the container, sizeLimit of the emptyDir, or lower --dram")
        : Finding.ok(what, found, needed));
  }
}
