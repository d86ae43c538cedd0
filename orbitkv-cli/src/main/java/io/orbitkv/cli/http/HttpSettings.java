package io.orbitkv.cli.http;

import io.orbitkv.api.RefusedException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where to listen, and who may ask.
 *
 * <p>On a loopback address anyone on the host may read, and the admin verbs need the token. On any other address
 * everything needs the token, over TLS.
 *
 * @param address the address; port 0 takes a free one
 * @param tokenFile a private file with the token in its first line; without it the admin verbs are refused
 * @param keyStore the server's key and certificates: a PKCS #12 file, or PEM with the chain and a PKCS #8 key; without
 *     it the server speaks plain HTTP
 * @param keyStorePasswordFile a private file with the password of a PKCS #12 file
 */
public record HttpSettings(
    InetSocketAddress address, Optional<Path> tokenFile, Optional<Path> keyStore, Optional<Path> keyStorePasswordFile) {

  /** Checks that nothing is shown beyond this host without TLS and a token. */
  public HttpSettings {
    if (address.isUnresolved()) {
      throw new RefusedException("HTTP address '" + address.getHostString() + "' is not known on this host");
    }
    if (!address.getAddress().isLoopbackAddress() && (tokenFile.isEmpty() || keyStore.isEmpty())) {
      throw new RefusedException("HTTP address '" + address.getHostString()
          + "' can be reached from other hosts, which needs TLS and a token ("
          + (keyStore.isEmpty() ? "no key store" : "no token file") + " is set): add --http-tls and --admin-token-file, or listen on 127.0.0.1");
    }
    if (keyStorePasswordFile.isPresent() && keyStore.isEmpty()) {
      throw new RefusedException("there is a password of a key store, '" + keyStorePasswordFile.get()
          + "', and no key store; add --http-tls");
    }
  }

  /** Returns the settings of a server that this host alone can reach, without a token. */
  public static HttpSettings loopback(int port) {
    return new HttpSettings(
        new InetSocketAddress("127.0.0.1", port), Optional.empty(), Optional.empty(), Optional.empty());
  }

  boolean isLoopback() {
    return address.getAddress().isLoopbackAddress();
  }
}
