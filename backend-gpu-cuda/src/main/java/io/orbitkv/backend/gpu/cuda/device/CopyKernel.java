package io.orbitkv.backend.gpu.cuda.device;

import io.orbitkv.backend.gpu.cuda.driver.Gpu;
import io.orbitkv.backend.gpu.cuda.driver.GpuFacts;
import io.orbitkv.backend.gpu.cuda.driver.KernelLaunch;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The compiled kernel of {@code pages.cu}: machine code where there is some for the GPU, else PTX for the driver. */
final class CopyKernel {

  private static final String RESOURCES = "/META-INF/cuda/";
  private static final String NAME = "orbitkv_copy";

  private final Gpu gpu;
  private final long kernel;
  private final int grid;

  private CopyKernel(Gpu gpu, long kernel, int grid) {
    this.gpu = gpu;
    this.kernel = kernel;
    this.grid = grid;
  }

  static CopyKernel load(Gpu gpu, int grid) {
    GpuFacts facts = gpu.facts();
    String image = facts.major() == 9 && facts.minor() == 0 ? "pages.sm_90.cubin" : "pages.ptx";
    try (InputStream in = CopyKernel.class.getResourceAsStream(RESOURCES + image)) {
      return new CopyKernel(gpu, gpu.kernel(in.readAllBytes(), NAME), grid);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + image + " from the jar", e);
    }
  }

  void launch(long stream, GpuPages.Stripes stripes, KernelBlocks blocks, boolean toPool) {
    gpu.launch(kernel, stream, new KernelLaunch(stripes.address(), stripes.count(), stripes.bytes(), blocks.address(),
        blocks.count(), toPool, blocks.aligned() && stripes.aligned(), grid));
  }
}
