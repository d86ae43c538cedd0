/** Durable block stores on files, driven by io_uring through JNI, or by file channels where that is refused. */
module io.orbitkv.backend.iouring {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.StorageBackend with
      io.orbitkv.backend.iouring.store.ChannelStorage,
      io.orbitkv.backend.iouring.store.UringStorage;
}
