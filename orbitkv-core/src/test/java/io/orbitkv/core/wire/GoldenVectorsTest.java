package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The committed bytes of every message. A difference is a change of the protocol, which takes a new version and a new
 * file; this test only compares.
 */
class GoldenVectorsTest {

  private static final Path FILE = Path.of("src/test/resources/wire-1.jsonl");

  @Test
  void everyMessageIsWrittenAsCommitted() throws IOException {
    List<String> lines = new ArrayList<>();
    Vectors.REQUESTS.forEach(request -> lines.add(line("request", request, MessageBytes.of(request))));
    Vectors.REPLIES.forEach(reply -> lines.add(line("reply", reply, MessageBytes.of(reply))));
    assertThat(lines).containsExactlyElementsOf(Files.readAllLines(FILE));
  }

  @Test
  void everyMessageIsReadAsItWasWritten() throws MalformedException {
    for (Request request : Vectors.REQUESTS) {
      assertThat(MessageText.of(MessageBytes.request(MessageBytes.of(request)))).isEqualTo(MessageText.of(request));
    }
    for (Reply reply : Vectors.REPLIES) {
      assertThat(MessageText.of(MessageBytes.reply(MessageBytes.of(reply)))).isEqualTo(MessageText.of(reply));
    }
  }

  @Test
  void everyKindOfMessageHasAVector() {
    Set<Class<?>> kinds = new HashSet<>();
    Vectors.REQUESTS.forEach(request -> kinds.add(request.getClass()));
    Vectors.REPLIES.forEach(reply -> kinds.add(reply.getClass()));
    assertThat(Stream.of(Request.class, Reply.class).flatMap(side -> Stream.of(side.getPermittedSubclasses())))
        .allSatisfy(kind -> assertThat(kinds).contains(kind));
  }

  private static String line(String side, Object message, byte[] bytes) {
    return "{\"side\": \"" + side + "\", \"message\": \"" + message.getClass().getSimpleName() + "\", \"fields\": "
        + MessageText.of(message) + ", \"hex\": \"" + HexFormat.of().formatHex(bytes) + "\"}";
  }
}
