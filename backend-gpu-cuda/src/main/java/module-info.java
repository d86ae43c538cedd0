/** Copies between host memory and the pages of an engine on an NVIDIA GPU, by the CUDA driver through JNI. */
module io.orbitkv.backend.gpu.cuda {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.DeviceBackend with
      io.orbitkv.backend.gpu.cuda.device.CudaBackend;
}
