package io.orbitkv.backend.iouring.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

final class ChannelFileTest extends StoreFileContract {

  @Override
  protected StoreFiles files() {
    return new ChannelFiles(4);
  }

  @Override
  protected StoreFiles filesOfDevices() {
    return files();
  }

  @Test
  void memory_confinedToOneThread_isRefused() throws IOException {
    try (StoreFile file = files().open(Path.of("/dev/full"), 1);
        Arena confined = Arena.ofConfined()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> file.read(1, confined.allocate(4096, 4096), 0))
          .withMessageContaining("confined");
    }
  }

  @Test
  void memory_closedUnderATransfer_failsThatTransferAlone() throws IOException {
    try (StoreFile file = files().open(Path.of("/dev/full"), 2)) {
      try (Arena memory = Arena.ofShared()) {
        file.read(1, memory.allocate(4096, 4096), 0);
      }
      file.sync(2);
      int[] results = new int[3];
      for (int seen = 0; seen < 2; ) {
        seen += file.poll((token, result) -> results[(int) token] = result, true);
      }
      assertThat(results[1]).isEqualTo(-Errno.EIO.number());
    }
  }

  @Test
  void errno_ofAnUnknownText_isTheWorst() {
    assertThat(ChannelFile.errnoOf(new IOException("No space left on device"))).isEqualTo(Errno.ENOSPC);
    assertThat(ChannelFile.errnoOf(new IOException("Read-only file system"))).isEqualTo(Errno.EROFS);
    assertThat(ChannelFile.errnoOf(new IOException("Input/output error"))).isEqualTo(Errno.EIO);
    assertThat(ChannelFile.errnoOf(new IOException("Kein Platz mehr"))).isEqualTo(Errno.EIO);
    assertThat(ChannelFile.errnoOf(new IOException())).isEqualTo(Errno.EIO);
    assertThat(ChannelFile.errnoOf(new ClosedChannelException())).isEqualTo(Errno.EBADF);
  }
}
