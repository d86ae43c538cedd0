package io.orbitkv.cli.manager;

import io.orbitkv.api.Answer;
import io.orbitkv.api.Digest;
import io.orbitkv.api.Namespace;
import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RestoreGrant;
import io.orbitkv.api.SaveGrant;
import io.orbitkv.api.Session;
import io.orbitkv.api.SessionSpec;
import io.orbitkv.api.ShardLayout;
import io.orbitkv.core.client.ManagerClient;
import io.orbitkv.core.client.Membership;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * A member of an engine instance, which does what its input says, a line each, and answers each with a line. A chain is
 * named by its first token and has so many blocks. What it holds it keeps until it is told otherwise, or dies.
 */
final class MemberProcess {

  static final int SHARD_BYTES = 4096;

  private final Session session;
  private final int rank;
  private final List<AutoCloseable> held = new ArrayList<>();

  private MemberProcess(Session session, int rank) {
    this.session = session;
    this.rank = rank;
  }

  static SessionSpec spec(String instance, int ranks) {
    return new SessionSpec(instance, Namespace.builder("member", "1", Digest.ZERO).build(),
        new ShardLayout(ranks, SHARD_BYTES), 1);
  }

  static PrefixChain chain(int first, int blocks) {
    int[] tokens = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      tokens[i] = first + i;
    }
    return PrefixChain.ofTokens(tokens, 1);
  }

  /** What every byte of a block's shard is. */
  static byte content(int first, int block, int rank) {
    return (byte) (31 * first + 7 * block + rank);
  }

  public static void main(String[] args) throws IOException {
    int member = Integer.parseInt(args[3]);
    ManagerClient client = ManagerClient.open(Path.of(args[0]));
    Session session = client.attach(
        spec(args[1], Integer.parseInt(args[4])), new Membership(Long.parseLong(args[2]), member));
    MemberProcess process = new MemberProcess(session, Math.max(0, member));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    System.out.println("ready");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      try {
        System.out.println(process.obey(line.split(" ")));
      } catch (OrbitKvException e) {
        System.out.println("refused " + e.getMessage());
      } catch (Exception e) {
        System.out.println("failed " + e);
      }
    }
  }

  private String obey(String[] words) throws Exception {
    return switch (words[0]) {
      case "save" -> "saved " + save(number(words[1]), number(words[2]));
      case "hold-save" -> {
        SaveGrant grant = session.reserve(rank, chain(number(words[1]), number(words[2])), 0, number(words[2]));
        held.add(grant);
        yield "holds " + grant.wanted();
      }
      case "query" -> describe(session.query(chain(number(words[1]), number(words[2]))).await(Duration.ofSeconds(20)));
      case "restore" -> "restored " + restore(Long.parseLong(words[1]), number(words[2]));
      case "hold-restore" -> {
        RestoreGrant grant = session.restore(Long.parseLong(words[1]), rank);
        held.add(grant);
        yield "holds " + grant.blocks();
      }
      case "end" -> {
        for (AutoCloseable each : held) {
          each.close();
        }
        held.clear();
        yield "ended";
      }
      default -> throw new IllegalArgumentException(words[0]);
    };
  }

  private static int number(String word) {
    return Integer.parseInt(word);
  }

  private int save(int first, int blocks) {
    CRC32C crc = new CRC32C();
    try (SaveGrant grant = session.reserve(rank, chain(first, blocks), 0, blocks)) {
      for (int block = 0; block < blocks; block++) {
        if (grant.wants(block)) {
          MemorySegment shard = grant.shard(block);
          shard.fill(content(first, block, rank));
          crc.reset();
          crc.update(shard.asByteBuffer());
          grant.copied(block, (int) crc.getValue());
        }
      }
      return grant.commit();
    }
  }

  /** Returns how many blocks had the right bytes. */
  private int restore(long lease, int first) {
    int right = 0;
    try (RestoreGrant grant = session.restore(lease, rank)) {
      for (int block = 0; block < grant.blocks(); block++) {
        MemorySegment shard = grant.shard(block);
        boolean same = true;
        for (int at = 0; at < SHARD_BYTES; at++) {
          same &= shard.get(ValueLayout.JAVA_BYTE, at) == content(first, block, rank);
        }
        right += same ? 1 : 0;
      }
    }
    return right;
  }

  private static String describe(Answer answer) {
    return answer instanceof Answer.Hit hit
        ? "hit " + hit.lease().id() + " " + hit.dramBlocks() + " " + hit.ssdBlocks()
        : answer.toString();
  }
}
