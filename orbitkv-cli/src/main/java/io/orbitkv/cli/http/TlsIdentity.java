package io.orbitkv.cli.http;

import io.orbitkv.api.RefusedException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** The server's key and certificates. */
final class TlsIdentity {

  private static final Pattern CERTIFICATE =
      Pattern.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", Pattern.DOTALL);
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----(.+?)-----END PRIVATE KEY-----", Pattern.DOTALL);

  /** Kinds of keys that certificates of servers have. The file does not say in plain text which one it is. */
  private static final List<String> ALGORITHMS = List.of("EC", "RSA", "EdDSA");

  private static final String EXPECTED =
      "expected PKCS #12, or PEM with the certificate, its chain and an unencrypted PKCS #8 key";

  private TlsIdentity() {}

  /**
   * Reads the key store.
   *
   * @param file PKCS #12 or PEM, which only the owner may use
   * @param passwordFile the password of a PKCS #12 file, if it has one
   * @throws RefusedException if it holds no usable key
   */
  static SSLContext read(Path file, Optional<Path> passwordFile) {
    PrivateFile.checkPrivate("key store", file);
    char[] password =
        passwordFile.map(secret -> PrivateFile.secret("key store password", secret)).orElse("").toCharArray();
    try {
      byte[] content = Files.readAllBytes(file);
      String text = new String(content, StandardCharsets.ISO_8859_1);
      KeyStore store = text.contains("-----BEGIN ") ? ofPem(file, text, password) : ofPkcs12(content, password);
      KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, password);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), null, null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new RefusedException("key store '" + file + "' cannot be used: " + e.getMessage() + "; " + EXPECTED, e);
    }
  }

  private static KeyStore ofPkcs12(byte[] content, char[] password) throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(new ByteArrayInputStream(content), password);
    return store;
  }

  private static KeyStore ofPem(Path file, String text, char[] password)
      throws IOException, GeneralSecurityException {
    Matcher key = KEY.matcher(text);
    if (!key.find()) {
      throw new RefusedException("key store '" + file + "' has no private key; " + EXPECTED);
    }
    StringBuilder chain = new StringBuilder();
    CERTIFICATE.matcher(text).results().forEach(found -> chain.append(found.group()).append('\n'));
    Collection<? extends Certificate> certificates = CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(chain.toString().getBytes(StandardCharsets.US_ASCII)));
    if (certificates.isEmpty()) {
      throw new RefusedException("key store '" + file + "' has no certificate; " + EXPECTED);
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, password);
    store.setKeyEntry("server", privateKey(file, Base64.getMimeDecoder().decode(key.group(1))), password,
        certificates.toArray(Certificate[]::new));
    return store;
  }

  private static PrivateKey privateKey(Path file, byte[] encoded) throws GeneralSecurityException {
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
      } catch (InvalidKeySpecException e) {
        // Of another kind.
      }
    }
    throw new RefusedException("key store '" + file + "' has a key of a kind that is none of " + ALGORITHMS);
  }
}
