package io.orbitkv.core.agent;

import io.orbitkv.core.lifecycle.IllegalTransitionException;

/** The life of an engine's connection. */
enum ConnectionState {
  /** Nothing was said yet. */
  CONNECTED,
  /** Both sides know that they speak the same protocol. */
  GREETED,
  /** The engine's pages are known: it may load and save. */
  OPEN,
  /** The engine has left or is gone; its copies and grants are being ended. */
  ENDING,
  /** No copy runs, no grant is held. */
  ENDED;

  enum Event {
    GREET,
    OPEN,
    /** The engine asked to close, or its connection broke, or the agent is being closed. */
    LEAVE,
    /** The last copy is drained and the last grant ended. */
    END
  }

  ConnectionState on(Event event) {
    return switch (event) {
      case GREET -> from(CONNECTED, event, GREETED);
      case OPEN -> from(GREETED, event, OPEN);
      case LEAVE -> {
        if (this == ENDING || this == ENDED) {
          throw new IllegalTransitionException(this, event);
        }
        yield ENDING;
      }
      case END -> from(ENDING, event, ENDED);
    };
  }

  private ConnectionState from(ConnectionState expected, Event event, ConnectionState next) {
    if (this != expected) {
      throw new IllegalTransitionException(this, event);
    }
    return next;
  }
}
