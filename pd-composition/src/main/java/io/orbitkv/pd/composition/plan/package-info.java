/**
 * What to start: the command line and the environment of every process of a composition.
 *
 * <p>Owns: how a composition is said to a released engine and its router, in their own flags. Must not touch: rules,
 * which have been kept before; processes, which somebody else starts.
 */
package io.orbitkv.pd.composition.plan;
