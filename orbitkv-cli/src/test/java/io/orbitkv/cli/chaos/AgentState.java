package io.orbitkv.cli.chaos;

/** Where an agent is when something happens, and how it is kept there. */
enum AgentState {
  /** Its engine has connected and is about to say hello. */
  CONNECTED(Kept.ENGINE_REQUEST, 1),
  /** Its engine is about to say who it is. */
  GREETED(Kept.ENGINE_REQUEST, 2),
  /** It is about to register its engine with the Manager. */
  REGISTERING(Kept.MANAGER_REQUEST, 2),
  /** Nothing is under way. */
  OPEN(Kept.ITSELF, 0),
  /** A query is on its way to the Manager. */
  ASKED(Kept.MANAGER_REQUEST, 3),
  /** The Manager holds a lease, of which the agent does not know. */
  ANSWERED(Kept.MANAGER_REPLY, 3),
  /** Its engine holds a lease. */
  LEASED(Kept.ITSELF, 0),
  /** A load: the restore is asked for. */
  LOAD_ASKED(Kept.MANAGER_REQUEST, 7),
  /** The restore is granted, and the agent does not know. */
  LOAD_GRANTED(Kept.MANAGER_REPLY, 7),
  /** Half of the load is copied. */
  LOADING(Kept.COPIES, 0),
  /** The load is drained and not reported. */
  LOADED(Kept.ITSELF, 0),
  /** A save: the room for it is asked for. */
  SAVE_ASKED(Kept.MANAGER_REQUEST, 10),
  /** The room is granted, and the agent does not know. */
  SAVE_GRANTED(Kept.MANAGER_REPLY, 10),
  /** Half of the save is copied. */
  SAVING(Kept.COPIES, 0),
  /** The save is drained, and about to be committed. */
  SAVED(Kept.MANAGER_REQUEST, 11),
  /** The save is committed, and the agent does not know. */
  COMMITTED(Kept.MANAGER_REPLY, 11),
  /** Its engine has asked to close while half of a save is copied. */
  ENDING(Kept.COPIES, 0),
  /** Its Manager was killed. */
  ALONE(Kept.ITSELF, 0),
  /** Its Manager was killed when half of a load was copied. */
  LOADING_ALONE(Kept.COPIES, 0),
  /** Its Manager was killed when half of a save was copied. */
  SAVING_ALONE(Kept.COPIES, 0);

  /** What keeps it there. */
  enum Kept {
    /** Its engine asks for nothing more. */
    ITSELF,
    /** A request of its engine is held back. */
    ENGINE_REQUEST,
    /** Its request to the Manager is held back. */
    MANAGER_REQUEST,
    /** The Manager's reply is held back. */
    MANAGER_REPLY,
    /** The device stops in the middle of its copies. */
    COPIES
  }

  final Kept kept;
  /** The tag of the message that is held back, in docs/agent.md or docs/wire.md. */
  final int tag;

  AgentState(Kept kept, int tag) {
    this.kept = kept;
    this.tag = tag;
  }

  /** Returns whether a load or a save was asked for and not reported: its pages are not the engine's. */
  boolean hasPages() {
    return switch (this) {
      case LOAD_ASKED, LOAD_GRANTED, LOADING, LOADED, SAVE_ASKED, SAVE_GRANTED, SAVING, SAVED, COMMITTED, ENDING,
          LOADING_ALONE, SAVING_ALONE -> true;
      case CONNECTED, GREETED, REGISTERING, OPEN, ASKED, ANSWERED, LEASED, ALONE -> false;
    };
  }

  /** Returns whether the Manager has granted something that is not drained. */
  boolean isGranted() {
    return switch (this) {
      case LOAD_GRANTED, LOADING, SAVE_GRANTED, SAVING, SAVED, ENDING -> true;
      default -> false;
    };
  }

  /** Returns whether the Manager was killed before. */
  boolean isAlone() {
    return this == ALONE || this == LOADING_ALONE || this == SAVING_ALONE;
  }

  /** Returns whether it is reached through a relay, since a message of the engine is looked at. */
  boolean needsRelay() {
    return kept == Kept.ENGINE_REQUEST || this == ENDING;
  }
}
