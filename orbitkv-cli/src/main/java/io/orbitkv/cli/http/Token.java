package io.orbitkv.cli.http;

import io.orbitkv.api.Digest;
import io.orbitkv.api.RefusedException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;

/** The secret that an operator proves to have. Only its hash is kept, which also makes all comparisons equally long. */
final class Token {

  private static final int MIN_LENGTH = 16;

  private final byte[] digest;

  private Token(String secret) {
    this.digest = digestOf(secret);
  }

  /**
   * Reads the token.
   *
   * @throws RefusedException if the file is not private, or the token short enough to be guessed
   */
  static Token read(Path file) {
    String secret = PrivateFile.secret("token file", file);
    if (secret.length() < MIN_LENGTH) {
      throw new RefusedException("token file '" + file + "' has a token of " + secret.length()
          + " characters, expected at least " + MIN_LENGTH + ": openssl rand -hex 32 > " + file);
    }
    return new Token(secret);
  }

  /** Returns whether an Authorization header has the token as a bearer's. */
  boolean isBorneBy(String authorization) {
    String secret = credentials("Bearer ", authorization);
    return secret != null && matches(secret);
  }

  /** Returns whether an Authorization header has the token as the password of any user, as a browser sends it. */
  boolean isPasswordOf(String authorization) {
    String encoded = credentials("Basic ", authorization);
    if (encoded == null) {
      return false;
    }
    try {
      String pair = new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
      return matches(pair.substring(pair.indexOf(':') + 1));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private boolean matches(String secret) {
    return MessageDigest.isEqual(digest, digestOf(secret));
  }

  private static String credentials(String scheme, String authorization) {
    boolean ofScheme = authorization != null && authorization.regionMatches(true, 0, scheme, 0, scheme.length());
    return ofScheme ? authorization.substring(scheme.length()).strip() : null;
  }

  private static byte[] digestOf(String secret) {
    return Digest.sha256(secret.getBytes(StandardCharsets.UTF_8)).toBytes();
  }
}
