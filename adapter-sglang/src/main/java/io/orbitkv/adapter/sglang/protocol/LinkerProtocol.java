package io.orbitkv.adapter.sglang.protocol;

import io.orbitkv.core.wire.Protocol;

/** The numbers that the adapter and the linkers agree on. */
public final class LinkerProtocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** The release of SGLang whose contract this adapter translates. Another one is refused. */
  public static final String ENGINE_VERSION = "0.5.22";

  /** Most bytes of a frame's body. */
  public static final int MAX_FRAME_BYTES = Protocol.MAX_FRAME_BYTES;

  private LinkerProtocol() {}
}
