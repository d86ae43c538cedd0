package io.orbitkv.adapter.sglang.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Holds the tables of messages in {@code docs/sglang.md} to account. */
class ProtocolDocumentTest {

  private static final Pattern MESSAGE = Pattern.compile("(?m)^\\| \\d+ \\| `\\w+` \\| [^|]+ \\|");

  private static final Map<Class<?>, String> TYPES = Map.of(
      long.class, "i64", Long.class, "i64", int.class, "i32", boolean.class, "bool", String.class, "text", Digest.class, "hash",
      PrefixChain.class, "chain", Optional.class, "hash or empty bin", Map.class, "map");

  private static String document() throws IOException {
    return Files.readString(Path.of("../docs/sglang.md"));
  }

  @Test
  void everyMessageIsListedWithItsTagAndFields() throws IOException {
    List<String> expected = new ArrayList<>(rows(LinkerRequest.class));
    expected.addAll(rows(LinkerReply.class));
    assertThat(MESSAGE.matcher(document()).results().map(MatchResult::group)).containsExactlyElementsOf(expected);
  }

  private static List<String> rows(Class<?> side) {
    List<String> rows = new ArrayList<>();
    for (Class<?> kind : side.getPermittedSubclasses()) {
      rows.add("| " + (rows.size() + 1) + " | `" + kind.getSimpleName() + "` | " + fields(kind) + " |");
    }
    return rows;
  }

  private static String fields(Class<?> kind) {
    String fields = Arrays.stream(kind.getRecordComponents())
        .map(field -> "`" + field.getName() + "` " + type(field))
        .collect(Collectors.joining(", "));
    return fields.isEmpty() ? "none" : fields;
  }

  private static String type(RecordComponent field) {
    if (field.getType() == List.class) {
      Class<?> element = (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0];
      return TYPES.getOrDefault(element, element.getSimpleName()) + " list";
    }
    return field.getType().isEnum() ? "constant" : TYPES.get(field.getType());
  }
}
