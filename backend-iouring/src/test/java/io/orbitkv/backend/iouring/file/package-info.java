/** Tests of store files: the contract that every way of driving them is held to, and the way through file channels. */
package io.orbitkv.backend.iouring.file;
