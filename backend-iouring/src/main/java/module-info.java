/** The durable block store on one preallocated file, driven through io_uring or through file channels. */
module io.orbitkv.backend.iouring {
  requires io.orbitkv.api;
}
