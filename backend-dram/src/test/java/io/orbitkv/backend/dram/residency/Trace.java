package io.orbitkv.backend.dram.residency;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Requests, each the ids of its blocks, first block first. An id names a block's whole prefix: equal ids have equal ids
 * before them.
 */
record Trace(String name, List<int[]> requests) {

  /** Reads a recorded trace from the folder that the build names. */
  static Trace recorded(String name) {
    Path file = Path.of(System.getProperty("orbitkv.traces"), name + "_trace.jsonl").normalize();
    assertThat(file).as("recorded trace; -Dorbitkv.traces names the folder that holds it").isRegularFile();
    try (Stream<String> lines = Files.lines(file)) {
      return new Trace(name, lines.map(Trace::blocks).toList());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int[] blocks(String line) {
    int from = line.indexOf('[', line.indexOf("\"hash_ids\"")) + 1;
    String ids = line.substring(from, line.indexOf(']', from)).strip();
    return ids.isEmpty() ? new int[0] : Arrays.stream(ids.split(",\\s*")).mapToInt(Integer::parseInt).toArray();
  }

  /** Conversations that grow by some blocks a turn and end after some turns, many at a time. */
  static Trace multiTurn(long seed) {
    Random random = new Random(seed);
    List<int[]> requests = new ArrayList<>();
    int[][] open = new int[200][0];
    int next = 0;
    for (int i = 0; i < 3_000; i++) {
      int at = random.nextInt(open.length);
      int[] grown = random.nextInt(5) == 0 ? new int[0] : open[at];
      int old = grown.length;
      grown = Arrays.copyOf(grown, old + 1 + random.nextInt(8));
      for (int block = old; block < grown.length; block++) {
        grown[block] = next++;
      }
      open[at] = grown;
      requests.add(grown);
    }
    return new Trace("multi-turn", requests);
  }

  /** Short questions behind one of a hundred system prompts of unequal popularity. */
  static Trace sharedPrefix(long seed) {
    Random random = new Random(seed);
    List<int[]> requests = new ArrayList<>();
    int prompts = 100;
    int promptBlocks = 20;
    int next = prompts * promptBlocks;
    for (int i = 0; i < 3_000; i++) {
      int prompt = (int) (prompts * Math.pow(random.nextDouble(), 3));
      int[] blocks = new int[promptBlocks + 1 + random.nextInt(6)];
      for (int block = 0; block < blocks.length; block++) {
        blocks[block] = block < promptBlocks ? prompt * promptBlocks + block : next++;
      }
      requests.add(blocks);
    }
    return new Trace("shared-prefix", requests);
  }

  /** Conversations as in {@link #multiTurn}, and between them long documents that nobody asks for again. */
  static Trace longDocuments(long seed) {
    Random random = new Random(seed);
    List<int[]> requests = new ArrayList<>();
    int next = 10_000_000;
    for (int[] turn : multiTurn(seed).requests()) {
      requests.add(turn);
      if (random.nextInt(10) == 0) {
        int[] document = new int[200];
        for (int block = 0; block < document.length; block++) {
          document[block] = next++;
        }
        requests.add(document);
      }
    }
    return new Trace("long-doc", requests);
  }

  long blocks() {
    return requests.stream().mapToLong(blocks -> blocks.length).sum();
  }
}
