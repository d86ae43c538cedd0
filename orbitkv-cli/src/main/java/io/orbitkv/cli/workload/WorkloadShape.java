package io.orbitkv.cli.workload;

import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * Generated workloads, each the pattern of one kind of service. The same seed gives the same prompts, and fewer prompts
 * of a seed are the first ones of more.
 */
public enum WorkloadShape {

  /** Conversations that grow turn by turn, many open at once: every prompt repeats all that was said before. */
  MULTI_TURN {
    @Override
    int[] next(Generator generator) {
      SplittableRandom random = generator.random;
      List<int[]> open = generator.open;
      while (open.size() < OPEN_CONVERSATIONS) {
        open.add(generator.sharedBlocks(0, SYSTEM_PROMPT_BLOCKS));
      }
      int conversation = random.nextInt(OPEN_CONVERSATIONS);
      int[] prompt = generator.extend(open.get(conversation), random.nextInt(1, 7));
      // The answer's blocks come back as part of the next prompt. One turn in eight is the last of its conversation.
      int[] history = generator.extend(prompt, random.nextInt(1, 5));
      open.set(conversation, random.nextInt(8) == 0 ? generator.sharedBlocks(0, SYSTEM_PROMPT_BLOCKS) : history);
      return prompt;
    }
  },

  /** A few long system prompts, some far more popular than others, each followed by a tail that never comes back. */
  SHARED_PREFIX {
    @Override
    int[] next(Generator generator) {
      SplittableRandom random = generator.random;
      // The product of two uniform choices favours the first prompts, about as a Zipf law does.
      int which = (int) (random.nextDouble() * random.nextDouble() * SYSTEM_PROMPTS);
      int[] system = generator.sharedBlocks(which, 16 + 8 * which);
      return generator.extend(system, random.nextInt(1, 17));
    }
  },

  /** Long documents, each asked a few questions that arrive between those to other documents. */
  LONG_DOC {
    @Override
    int[] next(Generator generator) {
      SplittableRandom random = generator.random;
      List<int[]> open = generator.open;
      while (open.size() < OPEN_DOCUMENTS) {
        open.add(generator.extend(new int[0], random.nextInt(100, 401)));
      }
      int document = random.nextInt(OPEN_DOCUMENTS);
      int[] prompt = generator.extend(open.get(document), random.nextInt(1, 4));
      if (random.nextInt(4) == 0) {
        open.remove(document);
      }
      return prompt;
    }
  };

  private static final int OPEN_CONVERSATIONS = 32;
  private static final int SYSTEM_PROMPT_BLOCKS = 2;
  private static final int SYSTEM_PROMPTS = 8;
  private static final int OPEN_DOCUMENTS = 6;

  /**
   * Finds a shape by the name that {@link #toString} gives it.
   *
   * @param name as "multi-turn"
   * @return the shape
   * @throws RefusedException if there is none; the message lists them
   */
  public static WorkloadShape named(String name) {
    return Arrays.stream(values()).filter(shape -> shape.toString().equals(name)).findFirst().orElseThrow(
        () -> new RefusedException("workload '" + name + "' is not one of "
            + Arrays.stream(values()).map(WorkloadShape::toString).collect(Collectors.joining(", "))));
  }

  /**
   * Generates a workload.
   *
   * @param seed decides every prompt
   * @param requests how many prompts, at least 1
   * @return the workload
   */
  public Workload generate(long seed, int requests) {
    if (requests < 1) {
      throw new RefusedException("workload has " + requests + " requests, expected at least 1");
    }
    Generator generator = new Generator(seed);
    List<PrefixChain> prompts = new ArrayList<>(requests);
    for (int i = 0; i < requests; i++) {
      prompts.add(Workload.chain(next(generator)));
    }
    return new Workload(this + ", seed " + seed, prompts);
  }

  /** Makes the block ids of the next prompt. */
  abstract int[] next(Generator generator);

  /** Returns the name as it is typed: lower case with dashes. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** What one generation remembers from prompt to prompt. */
  private static final class Generator {

    /** Ids below are for blocks that many prompts share; fresh ones count up from here. */
    private static final int FIRST_FRESH_ID = 1 << 20;

    final SplittableRandom random;
    final List<int[]> open = new ArrayList<>();
    private int freshId = FIRST_FRESH_ID;

    Generator(long seed) {
      random = new SplittableRandom(seed);
    }

    int[] sharedBlocks(int which, int blocks) {
      int[] ids = new int[blocks];
      Arrays.setAll(ids, i -> which << 10 | i);
      return ids;
    }

    int[] extend(int[] prefix, int blocks) {
      int[] ids = Arrays.copyOf(prefix, prefix.length + blocks);
      Arrays.setAll(ids, i -> i < prefix.length ? prefix[i] : freshId++);
      return ids;
    }
  }
}
