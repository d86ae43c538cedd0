package io.orbitkv.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.http.HttpSettings;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class HttpOptionsTest {

  @Command
  static final class Carrier {
    @Mixin
    private HttpOptions http;
  }

  @ParameterizedTest
  @CsvSource({"'', 127.0.0.1, 9470", "--http=localhost:0, localhost, 0", "--http=[::1]:80, 0:0:0:0:0:0:0:1, 80"})
  void address_isRead(String args, String host, int port) {
    HttpSettings settings = settings(args).orElseThrow();

    assertThat(settings.address().getHostString()).isEqualTo(host);
    assertThat(settings.address().getPort()).isEqualTo(port);
    assertThat(settings.tokenFile()).isEmpty();
  }

  @Test
  void off_isNothing() {
    assertThat(settings("--http=off")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--http=9470", "--http=host", "--http=host:70000", "--http=:80", "--http=::1:80", "--http=a:b:1"})
  void anythingElse_isRefused(String arg) {
    assertThatThrownBy(() -> settings(arg)).isInstanceOf(RefusedException.class)
        .hasMessageContaining("is not a host and a port");
  }

  @Test
  void tokenWithoutHttp_isRefused() {
    assertThatThrownBy(() -> settings("--http=off --admin-token-file=x")).isInstanceOf(RefusedException.class);
  }

  @Test
  void otherHosts_needTlsAndAToken() {
    assertThatThrownBy(() -> settings("--http=0.0.0.0:9470 --admin-token-file=x"))
        .isInstanceOf(RefusedException.class).hasMessageContaining("no key store is set");
    assertThat(settings("--http=0.0.0.0:9470 --admin-token-file=x --http-tls=y")).isPresent();
  }

  private static Optional<HttpSettings> settings(String args) {
    Carrier carrier = new Carrier();
    new CommandLine(carrier).parseArgs(args.isEmpty() ? new String[0] : args.split(" "));
    return carrier.http.settings(HttpOptions.LOOPBACK);
  }
}
