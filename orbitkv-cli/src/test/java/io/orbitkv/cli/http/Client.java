package io.orbitkv.cli.http;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** Sends requests byte by byte as the test wants them, which a well-behaved client would not. */
final class Client {

  /** What came back. */
  record Reply(int status, Map<String, String> headers, String body) {}

  private final URI server;

  Client(URI server) {
    this.server = server;
  }

  Reply get(String path, String... headers) {
    return send("GET", path, headers);
  }

  Reply post(String path, String... headers) {
    return send("POST", path, headers);
  }

  Reply send(String method, String path, String... headers) {
    boolean named = String.join("\n", headers).contains("Host:");
    return raw(method + " " + path + " HTTP/1.1\r\n" + (named ? "" : "Host: localhost\r\n")
        + String.join("", Stream.of(headers).map(header -> header + "\r\n").toList())
        + "Connection: close\r\n\r\n");
  }

  /** Sends a text as it is and reads to the end; status 0 if the server cut the connection. */
  Reply raw(String request) {
    try (Socket socket = new Socket(server.getHost(), server.getPort())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      return parse(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    } catch (SocketException e) {
      return new Reply(0, Map.of(), e.getMessage());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Reply parse(String text) {
    int end = text.indexOf("\r\n\r\n");
    if (end < 0) {
      return new Reply(0, Map.of(), text);
    }
    String[] lines = text.substring(0, end).split("\r\n");
    Map<String, String> headers = new HashMap<>();
    for (int i = 1; i < lines.length; i++) {
      int colon = lines[i].indexOf(':');
      headers.put(lines[i].substring(0, colon).toLowerCase(), lines[i].substring(colon + 1).strip());
    }
    return new Reply(Integer.parseInt(lines[0].split(" ")[1]), headers, text.substring(end + 4));
  }
}
