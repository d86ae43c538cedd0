package io.orbitkv.core.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.NumberFormat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Holds {@code docs/wire.md} to account. */
class WireDocumentTest {

  private static final Pattern ROW = Pattern.compile("(?m)^\\| (\\d+) \\| `\\w+` \\| [^|]+ \\|");
  private static final Pattern EXAMPLE = Pattern.compile("(?ms)^```\\n(.+?)^```");
  private static final Pattern HEX = Pattern.compile("(?m)^(?:[0-9a-f]{2,} ?)+");

  private static final Map<Class<?>, String> TYPES = Map.of(
      long.class, "i64", int.class, "i32", boolean.class, "bool", String.class, "text", Digest.class, "hash",
      PrefixChain.class, "chain", long[].class, "longs", int[].class, "ints", boolean[].class, "flags",
      CacheStats.class, "stats");

  private String document;

  @BeforeEach
  void read() throws IOException {
    document = Files.readString(Path.of("../docs/wire.md"));
  }

  @Test
  void everyMessageIsListedWithItsTagAndFields() {
    List<String> expected = new ArrayList<>(rows(Request.class));
    expected.addAll(rows(Reply.class));
    assertThat(ROW.matcher(document).results().map(MatchResult::group)).containsExactlyElementsOf(expected);
  }

  @Test
  void boundsAreThoseOfTheCode() {
    NumberFormat numbers = NumberFormat.getIntegerInstance(Locale.ROOT);
    assertThat(document)
        .contains("1 to " + numbers.format(Protocol.MAX_FRAME_BYTES))
        .contains("| text | str, UTF-8 | " + numbers.format(Protocol.MAX_TEXT_BYTES) + " bytes |")
        .contains("array of " + CacheStats.class.getRecordComponents().length)
        .contains("at most " + Protocol.MAX_KEYS + " keys")
        .contains(Protocol.probe().toHex());
  }

  @Test
  void examplesAreVectors() {
    List<String> examples = EXAMPLE.matcher(document).results()
        .map(example -> HEX.matcher(example.group(1)).results().map(MatchResult::group).collect(Collectors.joining()))
        .map(hex -> hex.replace(" ", ""))
        .toList();
    List<String> frames = new ArrayList<>();
    Vectors.REQUESTS.forEach(request -> frames.add(frame(MessageBytes.of(request))));
    Vectors.REPLIES.forEach(reply -> frames.add(frame(MessageBytes.of(reply))));
    assertThat(examples).hasSize(2).isSubsetOf(frames);
  }

  private static List<String> rows(Class<?> side) {
    List<String> rows = new ArrayList<>();
    for (Class<?> kind : side.getPermittedSubclasses()) {
      String fields = Arrays.stream(kind.getRecordComponents())
          .map(field -> "`" + field.getName() + "` " + type(field))
          .collect(Collectors.joining(", "));
      rows.add("| " + (rows.size() + 1) + " | `" + kind.getSimpleName() + "` | " + (fields.isEmpty() ? "none" : fields)
          + " |");
    }
    return rows;
  }

  private static String type(RecordComponent field) {
    return field.getType().isEnum() ? "constant" : TYPES.get(field.getType());
  }

  private static String frame(byte[] message) {
    return HexFormat.of().formatHex(
        ByteBuffer.allocate(Integer.BYTES + message.length).putInt(message.length).put(message).array());
  }
}
