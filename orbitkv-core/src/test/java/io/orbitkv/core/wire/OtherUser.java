package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;

/** A process of another user that connects to a socket whose permissions would let it. */
public final class OtherUser {

  /** Says nothing, and prints what it is told until the other side closes. */
  private static final String SCRIPT = """
      import os, socket, sys
      os.setgroups([])
      os.setgid(65534)
      os.setuid(65534)
      with socket.socket(socket.AF_UNIX) as connecting:
          connecting.settimeout(20)
          connecting.connect(sys.argv[1])
          while data := connecting.recv(4096):
              sys.stdout.buffer.write(data)
      """;

  private OtherUser() {}

  /**
   * Opens a socket and the folders above it to everyone, connects to it as another user, and waits until it is closed.
   *
   * @return what was said, as text
   */
  public static String connect(Path socket, Path folder) throws IOException, InterruptedException {
    assumeThat(Files.getOwner(Path.of("/proc/self")).getName()).as("only root can become another user").isEqualTo("root");
    Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    for (Path each = socket.getParent(); each.startsWith(folder); each = each.getParent()) {
      Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwx--x--x"));
    }
    Process process = new ProcessBuilder("python3", "-c", SCRIPT, socket.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isZero();
      return said;
    } finally {
      process.destroyForcibly();
    }
  }
}
