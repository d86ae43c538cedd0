/** The stable contract of OrbitKV: identity, cache operations, errors, and the interfaces that backends implement. */
module io.orbitkv.api {
  exports io.orbitkv.api;
  exports io.orbitkv.api.spi;
}
