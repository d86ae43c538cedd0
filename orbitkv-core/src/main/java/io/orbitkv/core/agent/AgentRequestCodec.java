package io.orbitkv.core.agent;

import io.orbitkv.api.spi.PageLayout;
import io.orbitkv.api.spi.PoolLayout;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.PackReader;
import io.orbitkv.core.wire.PackWriter;
import java.util.ArrayList;
import java.util.List;

/** The fields of each {@link AgentRequest} on the wire, in order. A tag is its record's place, from 1. */
final class AgentRequestCodec {

  private static final int GROUP_WORDS = 6;

  private AgentRequestCodec() {}

  static void write(AgentRequest request, PackWriter out) {
    switch (request) {
      case AgentRequest.Hello hello -> {
        out.message(1, 3);
        out.int64(hello.protocol());
        out.text(hello.software());
        out.digest(hello.probe());
      }
      case AgentRequest.Open open -> {
        out.message(2, 9);
        out.text(open.instance());
        out.int64(open.incarnation());
        out.digest(open.namespace());
        out.int64(open.rank());
        out.int64(open.ranks());
        out.bool(open.whole());
        out.int64(open.blockTokens());
        out.longs(words(open.layout()));
        out.text(open.memory(), AgentProtocol.MAX_MEMORY_BYTES);
      }
      case AgentRequest.Query query -> {
        out.message(3, 3);
        out.int64(query.operation());
        out.int64(query.revision());
        out.chain(query.chain());
      }
      case AgentRequest.Poll poll -> {
        out.message(4, 2);
        out.int64(poll.operation());
        out.int64(poll.revision());
      }
      case AgentRequest.CancelQuery cancel -> {
        out.message(5, 2);
        out.int64(cancel.operation());
        out.int64(cancel.revision());
      }
      case AgentRequest.Release release -> {
        out.message(6, 1);
        out.int64(release.lease());
      }
      case AgentRequest.Load load -> {
        out.message(7, 4);
        out.int64(load.lease());
        out.int64(load.firstBlock());
        out.ints(load.pages());
        out.int64(load.mark());
      }
      case AgentRequest.Save save -> {
        out.message(8, 5);
        out.int64(save.series());
        out.int64(save.known());
        out.chain(save.chain());
        out.int64(save.firstBlock());
        out.ints(save.pages());
      }
      case AgentRequest.LayerReady ready -> {
        out.message(9, 3);
        out.int64(ready.transfer());
        out.int64(ready.layer());
        out.int64(ready.millis());
      }
      case AgentRequest.Progress progress -> {
        out.message(10, 1);
        out.int64(progress.millis());
      }
      case AgentRequest.Cancel cancel -> {
        out.message(11, 1);
        out.int64(cancel.transfer());
      }
      case AgentRequest.Close _ -> out.message(12, 0);
      case AgentRequest.Forget forget -> {
        out.message(13, 1);
        out.int64(forget.series());
      }
    }
  }

  static AgentRequest read(PackReader in) throws MalformedException {
    int tag = in.tag();
    AgentRequest request = switch (tag) {
      case 1 -> {
        in.message("Hello", 3);
        yield new AgentRequest.Hello(in.int32("protocol"), in.text("software"), in.digest("probe"));
      }
      case 2 -> {
        in.message("Open", 9);
        yield new AgentRequest.Open(in.text("instance"), in.int64("incarnation"), in.digest("namespace"),
            in.int32("rank"), in.int32("ranks"), in.bool("whole"), in.int32("blockTokens"),
            layout(in.longs("layout")), in.text("memory", AgentProtocol.MAX_MEMORY_BYTES));
      }
      case 3 -> {
        in.message("Query", 3);
        yield new AgentRequest.Query(in.int64("operation"), in.int32("revision"), in.chain("chain"));
      }
      case 4 -> {
        in.message("Poll", 2);
        yield new AgentRequest.Poll(in.int64("operation"), in.int32("revision"));
      }
      case 5 -> {
        in.message("CancelQuery", 2);
        yield new AgentRequest.CancelQuery(in.int64("operation"), in.int32("revision"));
      }
      case 6 -> {
        in.message("Release", 1);
        yield new AgentRequest.Release(in.int64("lease"));
      }
      case 7 -> {
        in.message("Load", 4);
        yield new AgentRequest.Load(
            in.int64("lease"), in.int32("firstBlock"), in.ints("pages"), in.int32("mark"));
      }
      case 8 -> {
        in.message("Save", 5);
        yield new AgentRequest.Save(in.int64("series"), in.int32("known"), in.chain("chain"), in.int32("firstBlock"),
            in.ints("pages"));
      }
      case 9 -> {
        in.message("LayerReady", 3);
        yield new AgentRequest.LayerReady(in.int64("transfer"), in.int32("layer"), in.int32("millis"));
      }
      case 10 -> {
        in.message("Progress", 1);
        yield new AgentRequest.Progress(in.int32("millis"));
      }
      case 11 -> {
        in.message("Cancel", 1);
        yield new AgentRequest.Cancel(in.int64("transfer"));
      }
      case 12 -> {
        in.message("Close", 0);
        yield new AgentRequest.Close();
      }
      case 13 -> {
        in.message("Forget", 1);
        yield new AgentRequest.Forget(in.int64("series"));
      }
      default -> throw new MalformedException("agent request: expected a tag of 1 to 13, found " + tag);
    };
    in.end();
    return request;
  }

  private static long[] words(PoolLayout layout) {
    long[] words = new long[GROUP_WORDS * layout.groups().size()];
    int i = 0;
    for (PageLayout group : layout.groups()) {
      words[i++] = group.base();
      words[i++] = group.layers();
      words[i++] = group.pages();
      words[i++] = group.pageBytes();
      words[i++] = group.layerStride();
      words[i++] = group.pageStride();
    }
    return words;
  }

  /** Refused, not malformed, if pages overlap: the message is whole, and its sender is told what is wrong. */
  private static PoolLayout layout(long[] words) throws MalformedException {
    if (words.length % GROUP_WORDS != 0 || words.length > GROUP_WORDS * PoolLayout.MAX_GROUPS) {
      throw new MalformedException("Open.layout: expected " + GROUP_WORDS + " numbers for each of at most "
          + PoolLayout.MAX_GROUPS + " groups, found " + words.length);
    }
    List<PageLayout> groups = new ArrayList<>();
    for (int i = 0; i < words.length; i += GROUP_WORDS) {
      groups.add(new PageLayout(
          words[i], int32(words[i + 1]), int32(words[i + 2]), int32(words[i + 3]), words[i + 4], words[i + 5]));
    }
    return new PoolLayout(groups);
  }

  private static int int32(long word) throws MalformedException {
    if (word != (int) word) {
      throw new MalformedException("Open.layout: expected an int of 32 bits, found " + word);
    }
    return (int) word;
  }
}
