package io.orbitkv.core.adapter;

import io.orbitkv.api.OrbitKvException;
import io.orbitkv.api.RefusedException;
import io.orbitkv.core.agent.FaultLog;
import io.orbitkv.core.wire.Dialogue;
import io.orbitkv.core.wire.MalformedException;
import io.orbitkv.core.wire.Reply.Refusal;
import java.io.IOException;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * An adapter's end of a connection. Whatever the other side sends, and whatever answering it comes to, nothing is thrown:
 * an engine outlives a fault of its cache.
 *
 * @param <Q> requests
 * @param <A> replies
 */
public final class ServedDialogue<Q, A> {

  private final Dialogue<Q, A> dialogue;
  private final String whose;
  private final FaultLog faults;
  private final BiFunction<Refusal, String, A> refused;

  /**
   * @param dialogue closed with this
   * @param whose connection it is, as an operator is told: "a scheduler's"
   * @param faults what operators are told of
   * @param refused makes the reply that refuses a request, and says why
   */
  public ServedDialogue(
      Dialogue<Q, A> dialogue, String whose, FaultLog faults, BiFunction<Refusal, String, A> refused) {
    this.dialogue = dialogue;
    this.whose = whose;
    this.faults = faults;
    this.refused = refused;
  }

  /** Answers until the other side leaves or this is closed. Once. */
  public void serve(Function<Q, A> answers) {
    try {
      while (true) {
        dialogue.answer(answer(dialogue.receive(), answers));
      }
    } catch (MalformedException e) {
      faults.fault(whose + " connection is closed, since what it sent is no message", e);
    } catch (IOException e) {
      // It left, or the adapter is being closed.
    } catch (RefusedException e) {
      faults.fault(whose + " connection is closed, since an answer is too long", e);
    }
  }

  private A answer(Q request, Function<Q, A> answers) {
    try {
      return answers.apply(request);
    } catch (OrbitKvException e) {
      return refused.apply(Refusal.of(e), e.getMessage());
    } catch (RuntimeException e) {
      // Also one that nobody thought of.
      faults.fault("unexpected " + e + " for " + request.getClass().getSimpleName(), e);
      return refused.apply(Refusal.UNAVAILABLE, "unexpected " + e);
    }
  }

  /** Ends the connection, and with it a call under way. From any thread. */
  public void close() {
    try {
      dialogue.close();
    } catch (IOException e) {
      faults.fault(whose + " connection was not closed", e);
    }
  }
}
