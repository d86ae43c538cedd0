/**
 * What makes a composition unsafe, one type a rule.
 *
 * <p>Owns: the rules, with where each comes from. Must not touch: processes and files; what is said of a composition
 * follows from the composition alone.
 */
package io.orbitkv.pd.composition.rule;
