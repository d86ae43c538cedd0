package io.orbitkv.cli.replay;

/** Told of what a stand-in engine and its ranks do. */
interface Tally {

  /** A prompt was asked for: its blocks, and how many leading ones were served from memory and from the SSD. */
  void served(int blocks, int fromDram, int fromSsd);

  /** A query had its first answer after so long. */
  void lookup(long nanos);

  /** A query waited so long for the SSD after that. */
  void ssdWait(long nanos);

  /** A rank restored bytes in so long. */
  void restored(long bytes, long nanos);

  /** A rank committed bytes in so long. */
  void saved(long bytes, long nanos);

  /** A hit of some blocks ended before every rank had taken its share: its cache went. They are computed. */
  void lost(int blocks);

  /** A restored page is not what was computed. */
  void wrongPage(int request, int block, int rank, int layer);
}
