package io.orbitkv.adapter.sglang.protocol;

/** The numbers that the adapter and the linkers agree on. */
public final class LinkerProtocol {

  /** This version. Another one is refused. */
  public static final int VERSION = 1;

  /** The release of SGLang whose contract this adapter translates. Another one is refused. */
  public static final String ENGINE_VERSION = "0.5.22";

  private LinkerProtocol() {}
}
