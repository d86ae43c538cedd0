/** An example of a plugin: a residency policy in a module of its own. */
module io.example.fifo {
  requires io.orbitkv.api;

  provides io.orbitkv.api.spi.ResidencyPolicy with io.example.fifo.FirstInFirstOut;
}
