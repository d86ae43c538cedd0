package io.orbitkv.core.wire;

import io.orbitkv.api.CacheStats;
import io.orbitkv.api.Digest;
import io.orbitkv.api.MissReason;
import io.orbitkv.api.PrefixChain;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/** Every message there can be. */
final class Messages {

  private Messages() {}

  static Arbitrary<Request> requests() {
    return Arbitraries.oneOf(Arrays.stream(Request.class.getPermittedSubclasses())
        .<Arbitrary<Request>>map(kind -> record(kind.asSubclass(Request.class)))
        .toList());
  }

  static Arbitrary<Reply> replies() {
    return Arbitraries.oneOf(Arrays.stream(Reply.class.getPermittedSubclasses())
        .<Arbitrary<Reply>>map(kind -> record(kind.asSubclass(Reply.class)))
        .toList());
  }

  private static <T> Arbitrary<T> record(Class<T> kind) {
    RecordComponent[] components = kind.getRecordComponents();
    List<Arbitrary<Object>> values = Arrays.stream(components).map(component -> value(component)).toList();
    Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    return Combinators.combine(values).as(arguments -> {
      try {
        return kind.getDeclaredConstructor(types).newInstance(arguments.toArray());
      } catch (ReflectiveOperationException e) {
        throw new AssertionError(e);
      }
    });
  }

  private static Arbitrary<Object> value(RecordComponent component) {
    Class<?> type = component.getType();
    if (type == Map.class) {
      return (component.getName().equals("missed")
          ? Arbitraries.maps(Arbitraries.of(MissReason.class), Arbitraries.longs())
          : Arbitraries.maps(text(), Arbitraries.longs()).ofMaxSize(40)).asGeneric();
    }
    if (type.isEnum()) {
      return Arbitraries.of(type.getEnumConstants()).asGeneric();
    }
    return switch (type.getName()) {
      case "long" -> Arbitraries.longs().asGeneric();
      case "int" -> Arbitraries.integers().asGeneric();
      case "boolean" -> Arbitraries.of(true, false).asGeneric();
      case "[J" -> Arbitraries.longs().array(long[].class).ofMaxSize(40).asGeneric();
      case "[I" -> Arbitraries.integers().array(int[].class).ofMaxSize(70).asGeneric();
      case "[Z" -> Arbitraries.of(true, false).array(boolean[].class).ofMaxSize(300).asGeneric();
      default -> other(type);
    };
  }

  private static Arbitrary<Object> other(Class<?> type) {
    Arbitrary<Digest> digests = Arbitraries.longs().tuple4().map(t -> new Digest(t.get1(), t.get2(), t.get3(), t.get4()));
    if (type == String.class) {
      return text().asGeneric();
    }
    if (type == Digest.class) {
      return digests.asGeneric();
    }
    if (type == PrefixChain.class) {
      return digests.list().ofMaxSize(9).map(PrefixChain::of).asGeneric();
    }
    if (type == CacheStats.class) {
      return record(CacheStats.class).asGeneric();
    }
    throw new AssertionError("no values of " + type);
  }

  private static Arbitrary<String> text() {
    return Arbitraries.strings().withCharRange('\0', '\ud7ff').ofMaxLength(Protocol.MAX_TEXT_BYTES / 3);
  }
}
