/** Tests of store files through io_uring, also where the kernel refuses it. */
package io.orbitkv.backend.iouring.ring;
