package io.orbitkv.cli.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;

/**
 * The page: one document with its style and script in it. It loads nothing but {@code /status.json}; its policy names
 * the style and the script by their hashes, so that nothing which might be smuggled in would run.
 */
final class StatusPage {

  private final Response response;

  /** Reads the parts from this module. */
  StatusPage() {
    String style = resource("status.css");
    String script = resource("status.js");
    String page = resource("status.html").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script);
    String policy = "default-src 'none'; connect-src 'self'; img-src data:; style-src '" + hash(style)
        + "'; script-src '" + hash(script) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    response = new Response(200, "text/html; charset=utf-8", page.getBytes(StandardCharsets.UTF_8),
        Map.of("Content-Security-Policy", policy));
  }

  Response response() {
    return response;
  }

  private static String resource(String name) {
    try (InputStream in = StatusPage.class.getResourceAsStream(name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("the page's own " + name + " cannot be read", e);
    }
  }

  private static String hash(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return "sha256-" + Base64.getEncoder().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
