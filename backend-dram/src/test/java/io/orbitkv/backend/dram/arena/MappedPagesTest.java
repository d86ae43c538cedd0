package io.orbitkv.backend.dram.arena;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MappedPagesTest {

  private static final List<String> SMAPS = """
      7f0000000000-7f0000400000 rw-s 00000000 00:1a 12                         /dev/shm/x/blocks.arena
      Size:               4096 kB
      KernelPageSize:        4 kB
      Rss:                4096 kB
      AnonHugePages:         0 kB
      ShmemPmdMapped:     2048 kB
      Shared_Hugetlb:        0 kB
      Private_Hugetlb:       0 kB
      VmFlags: rd wr sh mr
      7f0000400000-7f0000800000 rw-p 00000000 00:00 0
      KernelPageSize:     2048 kB
      Rss:                   0 kB
      Private_Hugetlb:    4096 kB
      7f0000800000-7f0000900000 rw-p 00000000 00:00 0                          [heap]
      Rss:                1024 kB
      AnonHugePages:         0 kB
      """.lines().toList();

  @Test
  void rangePartlyOnHugePages_saysHowMuch() {
    assertThat(MappedPages.of(SMAPS, 0x7f0000000000L, 4 << 20)).hasToString("2 MiB pages for 2MiB of 4MiB");
  }

  @Test
  void hugetlbfs_countsThoughItIsNotResident() {
    assertThat(MappedPages.of(SMAPS, 0x7f0000400000L, 4 << 20)).isEqualTo(new MappedPages(4 << 20, 4 << 20, 2 << 20))
        .hasToString("2 MiB pages");
  }

  @Test
  void ordinaryPages_areNotCalledHuge() {
    assertThat(MappedPages.of(SMAPS, 0x7f0000800000L, 1 << 20)).hasToString("4 KiB pages");
  }
}
