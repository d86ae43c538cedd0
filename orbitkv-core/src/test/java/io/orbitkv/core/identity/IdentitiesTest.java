package io.orbitkv.core.identity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.identity.EngineStatement.Fact;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What makes a namespace another one. */
@Timeout(60)
class IdentitiesTest {

  private static final String VERSION = "0.31.0";

  @TempDir
  private Path folder;

  private Path model;
  private Identities identities;

  @BeforeEach
  void makeModel() throws IOException {
    model = Files.createDirectory(folder.resolve("model"));
    Files.writeString(model.resolve("config.json"), "{}");
    Files.writeString(model.resolve("model-1.safetensors"), "weights");
    identities = new Identities(folder.resolve("state"));
  }

  @AfterEach
  void close() {
    identities.close();
  }

  private static List<Fact> facts() {
    return Stream.of("model.dtype", "cache.dtype", "cache.block_tokens", "hash.algorithm", "hash.probe",
        "parallel.tensor", "pages.layout", "pages.backends", "pages.pieces", "scope")
        .map(name -> new Fact(name, "value")).toList();
  }

  private static List<Fact> factsWith(String name, String value) {
    List<Fact> facts = new ArrayList<>(facts());
    facts.removeIf(fact -> fact.name().equals(name));
    facts.add(new Fact(name, value));
    return facts;
  }

  private EngineStatement files(String... adapters) {
    return stated(model.toString(), Optional.empty(), List.of(adapters), facts());
  }

  private static EngineStatement asserted(Digest digest, List<Fact> facts) {
    return stated("", Optional.of(digest), List.of(), facts);
  }

  private static EngineStatement stated(
      String model, Optional<Digest> asserted, List<String> adapters, List<Fact> facts) {
    return new EngineStatement("engine", VERSION, model, asserted, adapters, facts);
  }

  private static Digest namespace(Identities identities, EngineStatement asked) {
    Identities.Standing reply = identities.identify(asked);
    while (reply instanceof Identities.Standing.Reading) {
      Thread.onSpinWait();
      reply = identities.identify(asked);
    }
    return ((Identities.Standing.Known) reply).namespace();
  }

  private Digest namespace(EngineStatement asked) {
    return namespace(identities, asked);
  }

  /** As after a restart: nothing is remembered but what the state folder has. */
  private Digest namespaceAnew(EngineStatement asked) {
    try (Identities anew = new Identities(folder.resolve("state"))) {
      return namespace(anew, asked);
    }
  }

  @Test
  void namespace_isTheSameInEveryStart() {
    assertThat(namespace(files())).isEqualTo(namespaceAnew(files()));
  }

  @Test
  void everyFactDecides() {
    Set<Digest> namespaces = new HashSet<>();
    namespaces.add(namespace(asserted(Digest.ZERO, facts())));
    for (Fact fact : facts()) {
      assertThat(namespaces.add(namespace(asserted(Digest.ZERO, factsWith(fact.name(), "other")))))
          .as(fact.name()).isTrue();
    }
    assertThat(namespaces.add(namespace(asserted(Digest.ZERO, factsWith("more", "value"))))).isTrue();
    assertThat(namespaces.add(namespace(asserted(Digest.sha256(new byte[1]), facts())))).isTrue();
    for (EngineStatement other : List.of(
        new EngineStatement("engine", VERSION + "+cpu", "", Optional.of(Digest.ZERO), List.of(), facts()),
        new EngineStatement("another", VERSION, "", Optional.of(Digest.ZERO), List.of(), facts()))) {
      assertThat(namespaces.add(namespace(other))).isTrue();
    }
  }

  @Test
  void orderOfFacts_doesNotDecide() {
    assertThat(namespace(asserted(Digest.ZERO, facts().reversed())))
        .isEqualTo(namespace(asserted(Digest.ZERO, facts())));
  }

  @Test
  void contentOfAFile_decides() throws IOException {
    Digest before = namespace(files());
    Files.writeString(model.resolve("model-1.safetensors"), "weighty");
    assertThat(namespaceAnew(files())).isNotEqualTo(before);
  }

  @Test
  void nameOfAFile_decides() throws IOException {
    Digest before = namespace(files());
    Files.move(model.resolve("model-1.safetensors"), model.resolve("model-2.safetensors"));
    assertThat(namespaceAnew(files())).isNotEqualTo(before);
  }

  @Test
  void whatLiesBeside_doesNotDecide() throws IOException {
    Digest before = namespace(files());
    Files.writeString(model.resolve("README.md"), "read me");
    Files.writeString(model.resolve(".hidden.json"), "{}");
    Files.createDirectory(model.resolve("original.bin"));
    assertThat(namespaceAnew(files())).isEqualTo(before);
  }

  @Test
  void placeOfTheFolder_doesNotDecide() throws IOException {
    Digest before = namespace(files());
    Files.move(model, folder.resolve("moved"));
    model = folder.resolve("moved");
    assertThat(namespaceAnew(files())).isEqualTo(before);
  }

  @Test
  void folderOfLinks_isWhatTheyLeadTo() throws IOException {
    Digest before = namespace(files());
    Path links = Files.createDirectory(folder.resolve("links"));
    for (String name : List.of("config.json", "model-1.safetensors")) {
      Files.createSymbolicLink(links.resolve(name), model.resolve(name));
    }
    model = links;
    assertThat(namespace(files())).isEqualTo(before);
  }

  @Test
  void singleFile_isAModel() throws IOException {
    Path file = Files.writeString(folder.resolve("model.gguf"), "weights");
    EngineStatement asked =
        stated(file.toString(), Optional.empty(), List.of(), facts());
    Digest before = namespace(asked);
    Files.writeString(file, "weighty");
    assertThat(namespaceAnew(asked)).isNotEqualTo(before);
  }

  @Test
  void adaptersDecide_andSoDoesTheirOrder() throws IOException {
    Path one = Files.createDirectory(folder.resolve("one"));
    Path other = Files.createDirectory(folder.resolve("other"));
    Files.writeString(one.resolve("adapter_model.safetensors"), "one");
    Files.writeString(other.resolve("adapter_model.safetensors"), "other");
    Set<Digest> namespaces = new HashSet<>(List.of(namespace(files())));
    assertThat(namespaces.add(namespace(files(one.toString())))).isTrue();
    assertThat(namespaces.add(namespace(files(one.toString(), other.toString())))).isTrue();
    assertThat(namespaces.add(namespace(files(other.toString(), one.toString()))))
        .as("a name that stands for the other one").isTrue();
    Files.writeString(one.resolve("adapter_model.safetensors"), "won");
    assertThat(namespaces.add(namespaceAnew(files(one.toString())))).isTrue();
  }

  @Test
  void assertedDigest_readsNoModel() {
    model = folder.resolve("nowhere");
    assertThat(namespace(stated(model.toString(), Optional.of(Digest.ZERO), List.of(), facts())))
        .isEqualTo(namespace(asserted(Digest.ZERO, facts())));
  }

  @Test
  void modelThatIsNotThere_isRefusedAndMayBeAskedForAgain() throws IOException {
    Path missing = folder.resolve("missing");
    EngineStatement asked =
        stated(missing.toString(), Optional.empty(), List.of(), facts());
    assertThatThrownBy(() -> namespace(asked)).isInstanceOf(RefusedException.class)
        .hasMessageContaining(missing.toString());
    Files.createDirectory(missing);
    assertThatThrownBy(() -> namespace(asked)).isInstanceOf(RefusedException.class)
        .hasMessageContaining("no file of weights");
    Files.writeString(missing.resolve("config.json"), "{}");
    assertThat(namespace(asked)).isNotNull();
  }

  @Test
  void pathThatIsNone_isRefused() {
    for (String path : List.of("", "relative", "no\0path")) {
      EngineStatement asked =
          stated(path, Optional.empty(), List.of(), facts());
      assertThatThrownBy(() -> namespace(asked)).isInstanceOf(RefusedException.class);
    }
  }

  @Test
  void factsThatAreMissingOrDoubled_areRefused() {
    assertThatThrownBy(() -> namespace(asserted(Digest.ZERO, List.of()))).isInstanceOf(RefusedException.class)
        .hasMessageContaining("[model.dtype, cache.dtype,");
    List<Fact> twice = new ArrayList<>(facts());
    twice.add(new Fact("scope", "again"));
    assertThatThrownBy(() -> namespace(asserted(Digest.ZERO, twice))).isInstanceOf(RefusedException.class)
        .hasMessageContaining("'scope'");
    assertThatThrownBy(() -> namespace(asserted(Digest.ZERO, factsWith(" ", "nameless"))))
        .isInstanceOf(RefusedException.class);
    List<Fact> many = Stream.iterate(0, i -> i + 1).limit(257).map(i -> new Fact("f" + i, "")).toList();
    assertThatThrownBy(() -> namespace(asserted(Digest.ZERO, many))).isInstanceOf(RefusedException.class)
        .hasMessageContaining("257 facts");
  }

  @Test
  void namespaceThatIsKnown_makesRoomForOthers() {
    for (int i = 0; i < 40; i++) {
      assertThat(namespace(asserted(Digest.sha256(new byte[i]), facts()))).isNotNull();
    }
  }

  @Test
  void closedIdentities_refuse() {
    namespace(files());
    identities.close();
    assertThatThrownBy(() -> identities.identify(files())).isInstanceOf(RefusedException.class);
  }
}
