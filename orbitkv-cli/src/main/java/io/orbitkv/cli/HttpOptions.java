package io.orbitkv.cli;

import io.orbitkv.api.RefusedException;
import io.orbitkv.cli.http.HttpSettings;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Option;

/** Where a Manager serves HTTP, and for whom. */
final class HttpOptions {

  private static final Pattern ADDRESS = Pattern.compile("(?<host>[^:\\[\\]]+|\\[[0-9a-fA-F:.]+]):(?<port>\\d{1,5})");

  /** Where a Manager of its own process serves. */
  static final String LOOPBACK = "127.0.0.1:9470";

  /** Nowhere. */
  static final String OFF = "off";

  @Option(names = "--http", paramLabel = "HOST:PORT|off",
      description = "Where to serve health, metrics and status; port 0 takes a free one. Beyond this host only with "
          + "--http-tls and --admin-token-file. Default: " + LOOPBACK + ", and off in an agent.")
  private String address;

  @Option(names = "--admin-token-file", paramLabel = "FILE",
      description = "Private file with the token that the admin verbs need. Without it they are off.")
  private Path tokenFile;

  @Option(names = "--http-tls", paramLabel = "FILE",
      description = "Private file with the server's certificates and key, PKCS #12 or PEM: serve HTTPS.")
  private Path keyStore;

  @Option(names = "--http-tls-password-file", paramLabel = "FILE",
      description = "Private file with the password of a PKCS #12 file.")
  private Path keyStorePasswordFile;

  /**
   * Returns the settings, or nothing if HTTP is off.
   *
   * @param unlessSaid the address if none is given
   */
  Optional<HttpSettings> settings(String unlessSaid) {
    String address = this.address == null ? unlessSaid : this.address;
    if (address.equals(OFF)) {
      if (tokenFile != null || keyStore != null || keyStorePasswordFile != null) {
        throw new RefusedException("--http is off, but a token or a key store is set; leave them out");
      }
      return Optional.empty();
    }
    Matcher form = ADDRESS.matcher(address);
    if (!form.matches() || Integer.parseInt(form.group("port")) > 65_535) {
      throw new RefusedException("--http '" + address + "' is not a host and a port, as in 127.0.0.1:9470, or off");
    }
    String host = form.group("host").replaceAll("[\\[\\]]", "");
    return Optional.of(new HttpSettings(
        new InetSocketAddress(host, Integer.parseInt(form.group("port"))),
        Optional.ofNullable(tokenFile),
        Optional.ofNullable(keyStore),
        Optional.ofNullable(keyStorePasswordFile)));
  }
}
