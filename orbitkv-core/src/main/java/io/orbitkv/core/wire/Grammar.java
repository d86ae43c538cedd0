package io.orbitkv.core.wire;

/**
 * How the messages of one protocol are written and read, as {@link Dialogue} carries them. Holds nothing.
 *
 * @param <Q> requests
 * @param <A> replies
 */
public interface Grammar<Q, A> {

  /** Returns most bytes of a message, either way. */
  int maxFrameBytes();

  /** Writes a request. */
  void writeRequest(Q request, PackWriter out);

  /**
   * Reads a request.
   *
   * @throws MalformedException if it is none of the protocol
   */
  Q readRequest(PackReader in) throws MalformedException;

  /** Writes a reply. */
  void writeReply(A reply, PackWriter out);

  /**
   * Reads a reply.
   *
   * @throws MalformedException if it is none of the protocol
   */
  A readReply(PackReader in) throws MalformedException;
}
