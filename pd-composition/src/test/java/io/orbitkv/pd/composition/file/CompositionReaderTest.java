package io.orbitkv.pd.composition.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.pd.composition.CacheMode;
import io.orbitkv.pd.composition.CacheUse.Sharing;
import io.orbitkv.pd.composition.Composition;
import io.orbitkv.pd.composition.Draft;
import io.orbitkv.pd.composition.NixlTransport;
import io.orbitkv.pd.composition.QueueTransport;
import io.orbitkv.pd.composition.Role;
import io.orbitkv.pd.composition.Worker;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CompositionReaderTest {

  @Test
  void everySetting_isRead() {
    Composition read = Draft.vllm()
        .set("model.digest", "ab".repeat(32)).set("cache.sharing", "separate").set("cache.defer_ms", 5)
        .set("decode[0].ranks", 2).set("decode[0].scope", "d").set("decode[0].manager_http", "http://10.0.0.1:9470")
        .set("decode[0].options.--max-model-len", 4096).set("decode[0].options.--enforce-eager", true)
        .set("decode[0].environment.A", "b").set("router.options.--policy", "round_robin")
        .composition();

    assertThat(read.model().digest()).contains("ab".repeat(32));
    assertThat(read.transport())
        .isEqualTo(new NixlTransport(NixlTransport.Mode.PULL, 60, false));
    assertThat(read.cache().sharing()).isEqualTo(Sharing.SEPARATE);
    assertThat(read.cache().deferMillis()).isEqualTo(5);
    assertThat(read.workers(Role.PREFILL)).extracting(Worker::name).containsExactly("p0", "p1");
    Worker decode = read.workers(Role.DECODE).getFirst();
    assertThat(decode.http()).isEqualTo(URI.create("http://10.0.0.1:8200"));
    assertThat(decode.transferPort()).isEqualTo(5602);
    assertThat(decode.ranks()).isEqualTo(2);
    assertThat(decode.scope()).isEqualTo("d");
    assertThat(decode.manager()).contains(Path.of("/run/orbitkv/manager.sock"));
    assertThat(decode.managerHttp()).contains(URI.create("http://10.0.0.1:9470"));
    assertThat(decode.options())
        .containsExactly(Map.entry("--max-model-len", "4096"), Map.entry("--enforce-eager", ""));
    assertThat(decode.environment()).containsExactly(Map.entry("A", "b"));
    assertThat(read.router().options()).containsExactly(Map.entry("--policy", "round_robin"));
  }

  @Test
  void leftOut_isSafe() {
    Composition read = Draft.sglang().set("release", null).set("transport", null).composition();

    assertThat(read.release()).isEqualTo("0.5.22");
    assertThat(read.transport()).isEqualTo(new QueueTransport(QueueTransport.Backend.MOONCAKE, 300, 300, true, 30,
        false, true, QueueTransport.Retraction.CPU_TENSOR));
    assertThat(read.workers(Role.PREFILL).getFirst().mode()).isEqualTo(CacheMode.READ_WRITE);
    assertThat(read.workers(Role.DECODE).getFirst().mode()).isEqualTo(CacheMode.SAVE);
  }

  @ParameterizedTest
  @MethodSource
  void mistake_isNamedWithItsLine(String path, Object value, String message) {
    Draft draft = Draft.vllm().set(path, value);
    assertThatThrownBy(draft::composition).isInstanceOf(RefusedException.class)
        .hasMessageStartingWith("pd.json:1: ").hasMessageContaining(message);
  }

  static List<Arguments> mistake_isNamedWithItsLine() {
    return Arrays.asList(
        Arguments.of("engine", "vLLM", "engine is 'vLLM', expected one of 'vllm', 'sglang'"),
        Arguments.of("engine", null, "engine is missing, expected one of"),
        Arguments.of("engin", "vllm", "engin is no setting; there are cache, decode, engine, model, prefill, release,"
            + " router, transport: take it out, or correct its name"),
        Arguments.of("model.path", null, "model.path is missing, expected a text that is not empty"),
        Arguments.of("model.path", " ", "model.path is ' ', expected a text that is not empty"),
        Arguments.of("model.digest", "abc", "model.digest is 'abc', expected 64 hexadecimal digits"),
        Arguments.of("transport.name", "mooncake", "transport.name is 'mooncake', expected one of 'nixl'"),
        Arguments.of("transport.checksum", true, "transport.checksum is no setting; there are bidirectional, lease_s"),
        Arguments.of("transport.lease_s", "60", "transport.lease_s is '60', expected a whole number from 1 to 86400"),
        Arguments.of("transport.lease_s", 0, "transport.lease_s is 0, expected a whole number from 1"),
        Arguments.of("cache.sharing", true, "cache.sharing is true, expected one of 'shared', 'separate'"),
        Arguments.of("prefill", "p0", "prefill is 'p0', expected a list of objects, one a worker"),
        Arguments.of("prefill", List.of("p0"), "prefill[0] is 'p0', expected an object"),
        Arguments.of("decode[0].port", 70_000, "decode[0].port is 70000, expected a whole number from 1 to 65535"),
        Arguments.of("decode[0].port", 1.5, "decode[0].port is 1.5, expected a whole number"),
        Arguments.of("decode[0].name", "p0", "two workers are called 'p0'"),
        Arguments.of("decode[0].cache", "rw", "decode[0].cache is 'rw', expected one of 'read-write', 'save'"),
        Arguments.of("decode[0].manager", "manager.sock", "decode[0].manager is 'manager.sock', expected an absolute"),
        Arguments.of("decode[0].manager_http", "10.0.0.1:9470", "expected an address as http://10.0.0.1:9470"),
        Arguments.of("decode[0].options.max-model-len", 1, "decode[0].options.max-model-len is no name here, expected"
            + " an option as --max-model-len"),
        Arguments.of("decode[0].options.--eager", false, "decode[0].options.--eager is false, expected a text"),
        Arguments.of("decode[0].environment.A", true, "decode[0].environment.A is true, expected a text or a number"),
        Arguments.of("router.port", "x", "router.port is 'x'"));
  }
}
