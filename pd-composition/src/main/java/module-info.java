/** How prefill and decode workers are composed with the cache, on the engines' own transports. */
@SuppressWarnings("module")
module io.orbitkv.pd.composition {
  requires transitive io.orbitkv.api;
  requires tools.jackson.databind;

  exports io.orbitkv.pd.composition;

  // The command reads files and asks processes; it is compiled after this module, hence the annotation.
  exports io.orbitkv.pd.composition.check to io.orbitkv.cli;
  exports io.orbitkv.pd.composition.file to io.orbitkv.cli;
  exports io.orbitkv.pd.composition.plan to io.orbitkv.cli;
  exports io.orbitkv.pd.composition.rule to io.orbitkv.cli;
}
