package io.orbitkv.core.lifecycle;

/** An event came in a state that does not expect it: a fault in the core or in a caller that broke a grant's rules. */
public final class IllegalTransitionException extends IllegalStateException {

  private static final long serialVersionUID = 1L;

  /**
   * @param state the state
   * @param event the event that it refuses
   */
  public IllegalTransitionException(Enum<?> state, Enum<?> event) {
    super(state.getDeclaringClass().getSimpleName() + " " + state + " refuses "
        + event.getDeclaringClass().getSimpleName() + " " + event);
  }
}
