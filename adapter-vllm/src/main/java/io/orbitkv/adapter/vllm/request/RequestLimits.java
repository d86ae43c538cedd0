package io.orbitkv.adapter.vllm.request;

/**
 * Bounds of the tables of one scheduler. Whoever meets one is served as if there were no cache.
 *
 * @param requests most requests that are known
 * @param chainBlocks most hashes of all of them
 * @param loads most loads that are ordered and not reported
 * @param saves most saves that are ordered and not reported
 * @param saveBlocks most blocks of one save: the pages of one are given back together
 */
record RequestLimits(int requests, long chainBlocks, int loads, int saves, int saveBlocks) {

  /**
   * An agent takes 1,024 loads and saves together; two million hashes are 64 MiB, or 256 requests of 128,000 tokens in
   * blocks of 16.
   */
  static final RequestLimits DEFAULT = new RequestLimits(8192, 1L << 21, 256, 512, 256);
}
