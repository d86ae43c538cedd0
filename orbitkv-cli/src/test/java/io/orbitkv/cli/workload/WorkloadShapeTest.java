package io.orbitkv.cli.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.orbitkv.api.Digest;
import io.orbitkv.api.PrefixChain;
import io.orbitkv.api.RefusedException;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class WorkloadShapeTest {

  @ParameterizedTest
  @EnumSource
  void generate_repeatsItselfForASeed(WorkloadShape shape) {
    assertThat(shape.generate(11, 200)).isEqualTo(shape.generate(11, 200));
    assertThat(shape.generate(11, 200).prompts()).isNotEqualTo(shape.generate(12, 200).prompts());
  }

  @ParameterizedTest
  @EnumSource
  void generate_keepsTheFirstPromptsWhenMoreAreAskedFor(WorkloadShape shape) {
    assertThat(shape.generate(11, 50).prompts()).isEqualTo(shape.generate(11, 200).prompts().subList(0, 50));
  }

  @ParameterizedTest
  @EnumSource
  void generate_hasPrefixesToReuseAndBlocksToCompute(WorkloadShape shape) {
    Set<Digest> seen = new HashSet<>();
    long hits = 0;
    Workload workload = shape.generate(11, 1_000);
    for (PrefixChain prompt : workload.prompts()) {
      int block = 0;
      while (block < prompt.blocks() && seen.contains(prompt.hash(block))) {
        block++;
      }
      hits += block;
      for (; block < prompt.blocks(); block++) {
        seen.add(prompt.hash(block));
      }
    }
    assertThat((double) hits / workload.blocks()).isBetween(0.5, 0.95);
  }

  @ParameterizedTest
  @EnumSource
  void named_findsAShapeByItsOwnText(WorkloadShape shape) {
    assertThat(WorkloadShape.named(shape.toString())).isSameAs(shape);
  }

  @Test
  void named_listsTheShapesWhenThereIsNoSuchOne() {
    assertThatThrownBy(() -> WorkloadShape.named("chat"))
        .isInstanceOf(RefusedException.class)
        .hasMessage("workload 'chat' is not one of multi-turn, shared-prefix, long-doc");
  }
}
