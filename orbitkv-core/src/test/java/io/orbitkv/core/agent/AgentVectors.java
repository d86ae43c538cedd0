package io.orbitkv.core.agent;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.wire.Protocol;
import io.orbitkv.core.wire.Reply;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** One message of each kind and form, and a message as JSON. */
final class AgentVectors {

  static final List<AgentRequest> REQUESTS = List.of(
      new AgentRequest.Hello(1, "engine 1.2.3", Protocol.probe()),
      new AgentRequest.Open("llama/0", 0x1234_5678_9abc_def0L, Digest.sha256(new byte[] {1}), 0, 1, true, 16,
          new PoolLayout(List.of(
              new PageLayout(0, 32, 1000, 65_536, 65_536_000, 65_536),
              new PageLayout(2_097_152_000, 4, 1000, 8_192, 8_192, 32_768))),
          "/dev/shm/pool"),
      new AgentRequest.Open("llama/0", -1, Digest.ZERO, 3, 4, false, 0,
          PoolLayout.of(new PageLayout(1, 1, 1, 1, 1)), "/dev/shm/pool"),
      new AgentRequest.Query(7, 1, chain(2)),
      new AgentRequest.Poll(7, 1),
      new AgentRequest.CancelQuery(7, 1),
      new AgentRequest.Release(4_294_967_296L),
      new AgentRequest.Load(5, 1, new int[] {0, 70_000}, 3),
      new AgentRequest.Load(5, 0, new int[0], -1),
      new AgentRequest.Save(0, 0, chain(3), 1, new int[] {9, 8}),
      new AgentRequest.Save(4_294_967_297L, 2, chain(1), 2, new int[] {9}),
      new AgentRequest.LayerReady(6, 31, 1000),
      new AgentRequest.Progress(0),
      new AgentRequest.Cancel(6),
      new AgentRequest.Close(),
      new AgentRequest.Forget(4_294_967_297L));

  static final List<AgentReply> REPLIES = List.of(
      new AgentReply.Welcome(1, "orbitkv 0.1.0", 4711),
      new AgentReply.Refused(Reply.Refusal.REFUSED, "page 9 of block 0 is not in 0 to 7"),
      new AgentReply.Opened(true),
      new AgentReply.Opened(false),
      new AgentReply.Answered(Reply.Standing.HIT, 5, 2, 1, "NOT_STORED"),
      new AgentReply.Answered(Reply.Standing.MISS, 0, 0, 0, "UNAVAILABLE"),
      new AgentReply.Started(6, 2),
      new AgentReply.Started(0, 0),
      new AgentReply.Layer(AgentReply.LayerStanding.COPYING),
      new AgentReply.Layer(AgentReply.LayerStanding.READY),
      new AgentReply.Layer(AgentReply.LayerStanding.FAILED),
      new AgentReply.Finished(new long[] {6, 7}, new boolean[] {true, false}, new int[] {2, 0}),
      new AgentReply.Finished(new long[0], new boolean[0], new int[0]),
      new AgentReply.Done());

  private AgentVectors() {}

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
      case PoolLayout layout -> Arrays.toString(layout.groups().stream()
          .flatMapToLong(group -> LongStream.of(group.base(), group.layers(), group.pages(), group.pageBytes(),
              group.layerStride(), group.pageStride()))
          .toArray());
      case long[] values -> Arrays.toString(values);
      case int[] values -> Arrays.toString(values);
      case boolean[] values -> Arrays.toString(values);
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
