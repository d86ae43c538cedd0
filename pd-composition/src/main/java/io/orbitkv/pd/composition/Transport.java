package io.orbitkv.pd.composition;

/** What hands a request's pages from prefill to decode. It is the engine's own, and the only writer of those pages. */
public sealed interface Transport permits NixlTransport, QueueTransport {}
