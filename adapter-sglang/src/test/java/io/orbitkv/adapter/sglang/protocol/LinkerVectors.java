package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.core.identity.EngineStatement.Fact;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** One message of each kind and form, and a message as JSON. */
final class LinkerVectors {

  static final List<LinkerRequest> REQUESTS = List.of(
      new LinkerRequest.Hello(1, "orbitkv_sglang 0.1.0", "0.5.22", Protocol.probe()),
      new LinkerRequest.Identify("/models/llama", Optional.empty(), List.of("/adapters/sql", "/adapters/chat"),
          List.of(new Fact("kv_dtype", "bfloat16"), new Fact("scope", ""))),
      new LinkerRequest.Identify(
          "/models/llama", Optional.of(Digest.sha256(new byte[] {1})), List.of(), List.of()),
      new LinkerRequest.Attach(
          "llama", 0x1234_5678_9abc_def0L, Digest.sha256(new byte[] {2}), 1, 2, 1_048_576, 64, 1000, 16,
          "llama/window", Optional.of(Digest.sha256(new byte[] {3})), 2_097_152),
      new LinkerRequest.Attach("llama", -1, Digest.ZERO, 0, 1, 1, 1, 0, 0, "", Optional.empty(), 0),
      new LinkerRequest.Lookup("7f3a", 2, chain(3).hash(2), chain(3)),
      new LinkerRequest.Lookup("7f3a", 0, chain(3).hash(2), chain(0)),
      new LinkerRequest.GiveUp("7f3a", 4_294_967_296L),
      new LinkerRequest.GiveUp("7f3a", 0),
      new LinkerRequest.Counters());

  static final List<LinkerReply> REPLIES = List.of(
      new LinkerReply.Welcome(1, "orbitkv 0.1.0", 4711),
      new LinkerReply.Refused(Reply.Refusal.REFUSED, "linker of SGLang 0.5.21"),
      new LinkerReply.Identifying(1_000_000, 16_000_000_000L),
      new LinkerReply.Identified(Digest.sha256(new byte[] {2})),
      new LinkerReply.Attached(true),
      new LinkerReply.Attached(false),
      new LinkerReply.Matched(LinkerReply.Standing.NONE, 0, 0),
      new LinkerReply.Matched(LinkerReply.Standing.PENDING, 0, 0),
      new LinkerReply.Matched(LinkerReply.Standing.HIT, 64, 4_294_967_297L),
      new LinkerReply.Matched(LinkerReply.Standing.HIT, 64, 7, List.of(8L, 4_294_967_298L)),
      new LinkerReply.Matched(LinkerReply.Standing.UNKNOWN, 0, 0),
      new LinkerReply.Done(),
      new LinkerReply.Counted(Map.of("hits", 3L, "hit_blocks", 4_294_967_296L)),
      new LinkerReply.Counted(Map.of()));

  private LinkerVectors() {}

  private static PrefixChain chain(int blocks) {
    return PrefixChain.ofTokens(IntStream.range(0, blocks).toArray(), 1);
  }

  static String json(Object value) {
    return switch (value) {
      case String text -> '"' + text + '"';
      case Enum<?> constant -> json(constant.name());
      case Digest digest -> json(digest.toHex());
      case PrefixChain chain -> {
        ByteBuffer bytes = ByteBuffer.allocate(Digest.BYTES * chain.blocks());
        chain.write(bytes);
        yield json(HexFormat.of().formatHex(bytes.array()));
      }
      case Optional<?> digest -> digest.map(LinkerVectors::json).orElse("\"\"");
      case List<?> values -> values.stream().map(LinkerVectors::json).collect(Collectors.joining(", ", "[", "]"));
      case Map<?, ?> values -> values.entrySet().stream()
          .map(entry -> json(entry.getKey()) + ": " + json(entry.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
      case long[] values -> Arrays.toString(values);
      case int[] values -> Arrays.toString(values);
      case Record message -> Arrays.stream(message.getClass().getRecordComponents())
          .map(component -> json(component.getName()) + ": " + json(get(message, component)))
          .collect(Collectors.joining(", ", "{", "}"));
      default -> value.toString();
    };
  }

  private static Object get(Record message, RecordComponent component) {
    try {
      return component.getAccessor().invoke(message);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }
}
