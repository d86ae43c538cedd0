/**
 * What is asked, held and given up for an engine's requests, the same for all of its ranks.
 *
 * <p>Owns: requests from their first lookup until no rank is interested any more. Must not touch: sockets, copies.
 */
package io.orbitkv.adapter.sglang.request;
