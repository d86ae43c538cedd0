package io.orbitkv.core.wire;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A message as JSON: what a vector shows of it, and what two messages with arrays in them are compared by. */
final class MessageText {

  private MessageText() {}

  static String of(Object value) {
    return switch (value) {
      case String text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
      case Enum<?> constant -> of(constant.name());
      case Digest digest -> of(digest.toHex());
      case PrefixChain chain -> of(hex(chain));
      case long[] values -> Arrays.toString(values);
      case int[] values -> Arrays.toString(values);
      case boolean[] values -> Arrays.toString(values);
      case Map<?, ?> map -> new TreeMap<>(map).entrySet().stream()
          .map(entry -> of(entry.getKey()) + ": " + of(entry.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
      case Record message -> Arrays.stream(message.getClass().getRecordComponents())
          .map(component -> of(component.getName()) + ": " + of(get(message, component)))
          .collect(Collectors.joining(", ", "{", "}"));
      default -> value.toString();
    };
  }

  private static String hex(PrefixChain chain) {
    ByteBuffer bytes = ByteBuffer.allocate(Digest.BYTES * chain.blocks());
    chain.write(bytes);
    return HexFormat.of().formatHex(bytes.array());
  }

  private static Object get(Record message, RecordComponent component) {
    try {
      return component.getAccessor().invoke(message);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
