package io.orbitkv.adapter.vllm.protocol;

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
final class SchedulerVectors {

  static final List<SchedulerRequest> REQUESTS = List.of(
      new SchedulerRequest.Hello(1, "orbitkv_vllm 0.1.0", "0.31.0", Protocol.probe()),
      new SchedulerRequest.Identify("/models/llama", Optional.empty(), List.of("/adapters/sql", "/adapters/chat"),
          List.of(new Fact("kv_dtype", "bfloat16"), new Fact("scope", ""))),
      new SchedulerRequest.Identify(
          "/models/llama", Optional.of(Digest.sha256(new byte[] {1})), List.of(), List.of()),
      new SchedulerRequest.Attach(
          "llama/0", 0x1234_5678_9abc_def0L, Digest.sha256(new byte[] {2}), 2, 1_048_576, 32, 1000, true, true),
      new SchedulerRequest.Attach("llama/0", -1, Digest.ZERO, 1, 1, 1, 0, false, false),
      new SchedulerRequest.Lookup("cmpl-1", 32, 100, 0, chain(3)),
      new SchedulerRequest.Lookup("cmpl-1", 0, 100, 3, chain(0)),
      new SchedulerRequest.Step(
          List.of(new SchedulerRequest.Allocated("cmpl-1", 64, new int[] {4, 5, 70_000}),
              new SchedulerRequest.Allocated("cmpl-2", 0, new int[0])),
          List.of(new SchedulerRequest.Advanced("cmpl-3", 96, 2, chain(1), 2, new int[] {9})),
          List.of("cmpl-4"), List.of("cmpl-5", "cmpl-6"),
          List.of(new SchedulerRequest.SaveEnded(4_294_967_296L, 2)),
          List.of(new SchedulerRequest.LoadEnded("cmpl-7", true), new SchedulerRequest.LoadEnded("cmpl-8", false)), 500),
      new SchedulerRequest.Step(List.of(), List.of(), List.of(), List.of(), List.of(), List.of(), 0),
      new SchedulerRequest.Reset(),
      new SchedulerRequest.Counters());

  static final List<SchedulerReply> REPLIES = List.of(
      new SchedulerReply.Welcome(1, "orbitkv 0.1.0", 4711),
      new SchedulerReply.Refused(Reply.Refusal.REFUSED, "connector of vLLM 0.30.0"),
      new SchedulerReply.Identifying(1_000_000, 16_000_000_000L),
      new SchedulerReply.Identified(Digest.sha256(new byte[] {2})),
      new SchedulerReply.Attached(true),
      new SchedulerReply.Attached(false),
      new SchedulerReply.Matched(SchedulerReply.Standing.NONE, 0),
      new SchedulerReply.Matched(SchedulerReply.Standing.DEFER, 0),
      new SchedulerReply.Matched(SchedulerReply.Standing.HIT, 64),
      new SchedulerReply.Plan(
          List.of(new SchedulerReply.Load("cmpl-1", 5, 1, new int[] {5, 70_000})),
          List.of(new SchedulerReply.Save(4_294_967_297L, "cmpl-3", 4_294_967_298L, 2, chain(1), 2, new int[] {9})),
          new long[] {7, 8}, new long[] {4_294_967_296L}, false, chain(2)),
      new SchedulerReply.Plan(List.of(), List.of(), new long[0], new long[0], true, chain(0)),
      new SchedulerReply.ResetDone(true),
      new SchedulerReply.ResetDone(false),
      new SchedulerReply.Counted(Map.of("loads", 3L, "hit_tokens", 4_294_967_296L)),
      new SchedulerReply.Counted(Map.of()));

  private SchedulerVectors() {}

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
      case Optional<?> digest -> digest.map(SchedulerVectors::json).orElse("\"\"");
      case List<?> values -> values.stream().map(SchedulerVectors::json).collect(Collectors.joining(", ", "[", "]"));
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
