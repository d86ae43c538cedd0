package io.orbitkv.api;

/**
 * Names a query of a session. The same id with the same chain polls; a higher revision of an operation replaces the
 * earlier one; a lower revision, or an operation that has ended, is refused. Ids are unique within a session, never
 * across sessions.
 *
 * @param operation an id that the caller raises with each new query
 * @param revision 0 at first, raised when the arguments change
 */
public record QueryId(long operation, int revision) {

  /** Checks the signs. */
  public QueryId {
    if (operation < 0 || revision < 0) {
      throw new RefusedException("query id " + operation + "/" + revision + " is negative");
    }
  }

  @Override
  public String toString() {
    return operation + "/" + revision;
  }
}
