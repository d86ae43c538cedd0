package io.orbitkv.backend.iouring.ring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.orbitkv.api.UnavailableException;
import io.orbitkv.backend.iouring.file.Errno;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Opens rings in processes of their own: under limits and filters, and to see the library loaded from nothing. */
@Timeout(120)
final class ConfinedRingTest {

  private static final String CONFINE = System.getProperty("orbitkv.test.confine");
  private static final String NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED";

  @TempDir Path folder;

  private Path file;
  private Path nativeFolder;

  @BeforeEach
  void createFile() throws IOException {
    file = Files.write(folder.resolve("store"), new byte[4096]);
    nativeFolder = Files.createDirectory(folder.resolve("native"));
  }

  /** Runs {@link RingProcess} on the class path and returns what it printed. */
  private String run(List<String> wrapper, String... options) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(wrapper);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1", "--illegal-native-access=deny"));
    command.add("-D" + RingLibrary.FOLDER_PROPERTY + "=" + nativeFolder);
    command.addAll(List.of(options));
    String modules = System.getProperty("jdk.module.path");
    command.addAll(List.of("-cp", modules + File.pathSeparator + System.getProperty("orbitkv.test.classes")));
    command.addAll(List.of(RingProcess.class.getName(), file.toString()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  private void needsRings() throws IOException {
    try {
      new RingFiles(true).open(file, 1).close();
    } catch (UnavailableException e) {
      abort(e.getMessage());
    }
  }

  @Test
  void open_underAFilter_saysThatAProfileForbidsIt() throws Exception {
    needsRings();
    assertThat(run(List.of(CONFINE, "deny", number(Errno.EPERM)), NATIVE_ACCESS))
        .startsWith("unavailable: io_uring is refused with EPERM")
        .contains("seccomp", "storage=file");
  }

  @Test
  void open_whereTheCallIsHidden_saysSo() throws Exception {
    needsRings();
    assertThat(run(List.of(CONFINE, "deny", number(Errno.ENOSYS)), NATIVE_ACCESS))
        .startsWith("unavailable: io_uring is refused with ENOSYS")
        .contains("older than 5.1");
  }

  private static String number(Errno errno) {
    return Integer.toString(errno.number());
  }

  @Test
  void register_beyondTheLimit_saysWhichAndTransfersGoOn() throws Exception {
    needsRings();
    assertThat(run(List.of(CONFINE, "memlock", "4194304"), NATIVE_ACCESS))
        .startsWith("not registered")
        .contains("RLIMIT_MEMLOCK is 4194304 bytes", "16777216 are needed")
        .contains("read 4096");
  }

  @Test
  void library_isUnpackedWhereAskedAndNotLeftThere() throws Exception {
    needsRings();
    assertThat(run(List.of(), NATIVE_ACCESS)).contains("registered 16777216 bytes", "read 4096");
    assertThat(nativeFolder).isEmptyDirectory();
  }

  @Test
  void library_whereItCannotBeUnpacked_namesTheFolderAndTheProperty() throws Exception {
    Files.delete(nativeFolder);
    assertThat(run(List.of(), NATIVE_ACCESS))
        .startsWith("unavailable: cannot unpack the native library to " + nativeFolder)
        .contains("-Dorbitkv.native.dir");
  }

  @Test
  void library_onAFolderMountedNoexec_saysSo() throws Exception {
    List<String> mounted =
        List.of(
            "unshare", "--map-root-user", "--mount", "sh", "-c",
            "mount -t tmpfs -o noexec tmpfs '" + nativeFolder + "' && exec \"$@\"", "sh");
    needs(mounted);
    assertThat(run(mounted, NATIVE_ACCESS))
        .startsWith("unavailable: cannot load the native library from " + nativeFolder)
        .contains("mounted noexec", "-Dorbitkv.native.dir");
  }

  /** Not every machine grants name spaces for mounts to everybody. */
  private static void needs(List<String> wrapper) throws InterruptedException {
    List<String> command = new ArrayList<>(wrapper);
    command.add("true");
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (process.waitFor() != 0) {
        abort("no mount in a name space of its own: " + output);
      }
    } catch (IOException e) {
      abort("no mount in a name space of its own: " + e.getMessage());
    }
  }

  @Test
  void library_withoutNativeAccess_namesTheFlag() throws Exception {
    assertThat(run(List.of())).startsWith("unavailable: native access is denied").contains(NATIVE_ACCESS);
  }
}
