package io.orbitkv.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.arch.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LauncherTest {

  @TempDir
  Path temp;

  private Path tree;
  private Path jdks;
  private final Map<String, String> environment = new TreeMap<>();

  @BeforeEach
  void plantTree() throws IOException {
    temp = temp.toRealPath();
    tree = temp.resolve("a tree with spaces");
    jdks = temp.resolve("jdks");
    Files.createDirectories(tree.resolve("orbitkv-cli/src/main/java"));
    Files.createDirectories(jdks);
    Files.createDirectories(temp.resolve("bin"));
    Files.writeString(tree.resolve("pom.xml"), "<project/>");
    Files.writeString(tree.resolve("orbitkv-cli/src/main/java/Main.java"), "class Main {}");
    executable(tree.resolve("orbitkv"), Files.readString(Repository.root().resolve("orbitkv")));
    executable(temp.resolve("bin/mvn"), """
        #!/bin/sh
        echo "built by $JAVA_HOME"
        mkdir -p orbitkv-cli/target/app/modules
        touch orbitkv-cli/target/app/modules/orbitkv-cli-1.jar orbitkv-cli/target/app/modules/orbitkv-api-1.jar
        """);
    Files.createSymbolicLink(temp.resolve("bin/java"), jdk(temp.resolve("old"), "17.0.15").resolve("bin/java"));
    environment.put("PATH", temp.resolve("bin") + ":/usr/bin:/bin");
    environment.put("HOME", temp.toString());
    environment.put("ORBITKV_JDKS", temp.resolve("nothing here") + ":" + jdks);
  }

  @Test
  void startsTheCommandOnAnInstalledJdk_whereTheDefaultJavaIsOlder() throws Exception {
    Path home = jdk(jdks.resolve("jdk 25"), "25.0.3");
    Outcome outcome = launch(tree.resolve("orbitkv"), "inspect", "a folder", "");
    assertThat(outcome.out()).startsWith(home + "/bin/java in " + temp).containsSubsequence(
        "[--module-path]", "[" + tree + "/orbitkv-cli/target/app/modules]",
        "[--module]", "[io.orbitkv.cli/io.orbitkv.cli.Main]", "[inspect]", "[a folder]", "[]");
    assertThat(outcome.out()).contains("[-XX:+UseSerialGC]");
  }

  @ParameterizedTest
  @CsvSource({"JAVA_HOME", "JAVA25_HOME"})
  void environmentComesFirst(String variable) throws Exception {
    jdk(jdks.resolve("found"), "25.0.1");
    Path named = jdk(temp.resolve("named"), "25");
    environment.put(variable, named.toString());
    assertThat(launch(tree.resolve("orbitkv")).out()).startsWith(named.toString());
  }

  @Test
  void javaOnThePath_isTakenIfItIsA25() throws Exception {
    Path home = jdk(temp.resolve("new"), "25.0.3");
    Files.delete(temp.resolve("bin/java"));
    Files.createSymbolicLink(temp.resolve("bin/java"), home.resolve("bin/java"));
    assertThat(launch(tree.resolve("orbitkv")).out()).startsWith(home.toString());
  }

  @Test
  void noJdk25_isOneLineThatSaysWhatToInstall() throws Exception {
    environment.put("JAVA_HOME", jdk(jdks.resolve("older"), "24.0.2").toString());
    jdk(jdks.resolve("newer"), "26");
    Files.delete(jdk(jdks.resolve("no compiler"), "25").resolve("bin/javac"));
    assertThat(launch(tree.resolve("orbitkv"))).isEqualTo(new Outcome(1, "",
        "orbitkv: found no JDK 25; install one, such as Temurin 25, or set JAVA_HOME to where it is\n"));
  }

  @Test
  void buildsOnce_andSaysSoOnTheErrorStream() throws Exception {
    Path home = jdk(jdks.resolve("25"), "25");
    assertThat(launch(tree.resolve("orbitkv")).err())
        .isEqualTo("orbitkv: building, which takes a minute the first time\nbuilt by " + home + "\n");
    assertThat(launch(tree.resolve("orbitkv")).err()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"pom.xml, true", "orbitkv-cli/src/main/java/Main.java, true", "orbitkv-cli/src/main/java, true",
      "orbitkv-cli/target/app/src/main/Copied.java, false", "README.md, false"})
  void buildsAgain_ifAMainSourceIsNewer(String changed, boolean builds) throws Exception {
    jdk(jdks.resolve("25"), "25");
    launch(tree.resolve("orbitkv"));
    Path file = tree.resolve(changed);
    Files.createDirectories(file.getParent());
    if (Files.notExists(file)) {
      Files.createFile(file);
    }
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(60)));
    assertThat(launch(tree.resolve("orbitkv")).err().contains("building")).isEqualTo(builds);
  }

  @Test
  void rebuilding_leavesNoJarOfAnOlderVersion() throws Exception {
    jdk(jdks.resolve("25"), "25");
    launch(tree.resolve("orbitkv"));
    Path old = Files.createFile(tree.resolve("orbitkv-cli/target/app/modules/library-1.jar"));
    Files.setLastModifiedTime(tree.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(60)));
    launch(tree.resolve("orbitkv"));
    assertThat(old).doesNotExist();
  }

  @Test
  void failedBuild_startsNothing() throws Exception {
    jdk(jdks.resolve("25"), "25");
    executable(temp.resolve("bin/mvn"), "#!/bin/sh\necho broken\nexit 3\n");
    Outcome outcome = launch(tree.resolve("orbitkv"));
    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.out()).isEmpty();
    assertThat(outcome.err()).endsWith("broken\norbitkv: the build failed; the lines above say why\n");
  }

  @Test
  void symbolicLinks_leadToTheTree() throws Exception {
    jdk(jdks.resolve("25"), "25");
    Files.createSymbolicLink(temp.resolve("link"), Path.of("a tree with spaces/orbitkv"));
    Path second = Files.createSymbolicLink(temp.resolve("bin/kv"), Path.of("../link"));
    assertThat(launch(second).out()).contains("[" + tree + "/orbitkv-cli/target/app/modules]");
  }

  @Test
  void exitCodeAndSignals_areTheCommands() throws Exception {
    Path home = jdk(jdks.resolve("25"), "25");
    assertThat(launch(tree.resolve("orbitkv")).exitCode()).isEqualTo(7);
    executable(home.resolve("bin/java"), "#!/bin/sh\necho $$\n");
    Process process = start(tree.resolve("orbitkv"));
    assertThat(process.inputReader().readLine()).as("the JVM replaces the script").isEqualTo("" + process.pid());
  }

  @Test
  void whatServesBlocks_getsTheCollectorWithoutPauses() throws Exception {
    jdk(jdks.resolve("25"), "25");
    environment.put("ORBITKV_JAVA_OPTS", "-Xmx2g -Dkey=value");
    assertThat(launch(tree.resolve("orbitkv"), "replay").out())
        .containsSubsequence("[-XX:+UseZGC]", "[-Xmx2g]", "[-Dkey=value]", "[--module-path]");
  }

  private record Outcome(int exitCode, String out, String err) {}

  private Outcome launch(Path script, String... arguments) throws IOException, InterruptedException {
    Process process = start(script, arguments);
    String out = new String(process.getInputStream().readAllBytes());
    return new Outcome(process.waitFor(), out, Files.readString(temp.resolve("errors")));
  }

  private Process start(Path script, String... arguments) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(script.toString());
    builder.command().addAll(List.of(arguments));
    builder.directory(temp.toFile()).redirectError(temp.resolve("errors").toFile());
    builder.environment().clear();
    builder.environment().putAll(environment);
    return builder.start();
  }

  /** A JDK whose java says where it runs and with which arguments, and exits with 7. */
  private static Path jdk(Path home, String version) throws IOException {
    Files.createDirectories(home.resolve("bin"));
    Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"Nobody\"\nJAVA_VERSION=\"" + version + "\"\n");
    executable(home.resolve("bin/javac"), "#!/bin/sh\n");
    executable(home.resolve("bin/java"), "#!/bin/sh\necho \"$0 in $PWD\"\nprintf '[%s]\\n' \"$@\"\nexit 7\n");
    return home;
  }

  private static void executable(Path file, String text) throws IOException {
    Files.writeString(file, text);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
