/**
 * The adapter as the command finds it.
 *
 * <p>Owns: its name. Must not touch: anything before it is opened.
 */
package io.orbitkv.adapter.sglang;
