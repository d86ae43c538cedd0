"""What goes wrong with a transfer between real processes, and what has to hold all the same."""

from __future__ import annotations

from collections.abc import Callable

from pd.trial import DECODE, LOADED, PREFILL, ROUTER, SAVED, TOKENS, Trial, whole

_LONG = 1000
_MANY = 9
"""Prompts of so many tokens take every page of an engine in turn."""

_EXPIRED = "vllm:nixl_num_kv_expired_reqs_total"


def cancellation(trial: Trial) -> None:
    """The client goes away while its transfer is under way, once alone, and once while others use D's pages."""
    cluster = trial.cluster
    saved = trial.settled(DECODE)
    with trial.transfer(trial.prompt(_LONG)) as question:
        question.give_up()
        trial.poked(DECODE, lambda: not trial.receiving(), "D has heard that the client is gone")
        taken = trial.usage(DECODE)
        trial.shown(taken > 0, "cancellation: D keeps the pages that the transport may still write", f"{taken:.0%}")
    more = trial.settled(DECODE) - saved
    trial.shown(more == 0, "cancellation: they come free with the transport's word, and nothing of them is saved")

    others = [trial.prompt(_LONG) for _ in range(_MANY)]
    with trial.transfer(trial.prompt(_LONG)) as question:
        question.give_up()
        trial.poked(DECODE, lambda: not trial.receiving(), "D has heard that the client is gone")
        trial.exact(DECODE, others, "page reuse: others, in every other page of D")
        trial.shown(trial.usage(DECODE) >= taken, "page reuse: and in none that the transport may write")
    trial.settled(DECODE)
    trial.exact(DECODE, others[::-1], "page reuse: the others again, of pages that D has kept")
    trial.exact(ROUTER, [trial.prompt(_LONG) for _ in range(3)], "page reuse: through router, P and D, in these pages")


def peer_loss(trial: Trial) -> None:
    """P is killed while a transfer is under way."""
    cluster = trial.cluster
    mine = trial.prompt(_LONG)
    with trial.transfer(mine) as question:
        cluster.kill(PREFILL)
    if trial.outlives(DECODE, lambda: question.has_ended, "D gives the transfer up"):
        trial.shown(question.tokens() == trial.expected(mine), "peer loss: D computes what did not come", "exact")
        trial.exact(DECODE, [mine, trial.prompt(_LONG)], "peer loss: D goes on")
    else:
        print("seen: D has ended with P, from which it was reading", flush=True)
        cluster.start(DECODE)
        trial.saves(DECODE, DECODE)
    cluster.start(PREFILL)
    trial.saves(PREFILL, PREFILL)
    trial.serves()
    trial.exact(ROUTER, [mine, trial.prompt(_LONG)], "peer loss: with another P")


def partial_submission(trial: Trial) -> None:
    """P is killed when it has computed and saved some chunks of a prompt."""
    cluster = trial.cluster
    for _ in range(10):
        mine = trial.prompt(2 * _LONG)
        saved = cluster.metric(PREFILL, SAVED)
        question = cluster.question(ROUTER, mine, TOKENS)
        while not question.has_ended and cluster.metric(PREFILL, SAVED) <= saved:
            pass
        with cluster.stopped(PREFILL):
            if not question.has_ended and cluster.metric(PREFILL, SAVED) - saved < whole(2 * _LONG):
                cluster.kill(PREFILL)
                break
    else:
        raise AssertionError("P was faster each time")
    cluster.until(lambda: question.has_ended, "the client has an answer or none")
    cluster.start(PREFILL)
    trial.saves(PREFILL, PREFILL)
    trial.serves()
    trial.settled(PREFILL)
    loaded = cluster.metric(PREFILL, LOADED)
    trial.exact(ROUTER, [mine], "partial submission: the same prompt with another P")
    trial.settled(PREFILL)
    restored = cluster.metric(PREFILL, LOADED) - loaded
    most = whole(2 * _LONG)
    trial.shown(restored < most, "partial submission: which restores the chunks", f"{restored:.0f} tokens of {most}")


def delayed_acknowledgement(trial: Trial) -> None:
    """D stands still until P's lease has run out, and reads P's pages when they are others'."""
    cluster = trial.cluster
    mine = trial.prompt(_LONG)
    expired = cluster.metric(PREFILL, _EXPIRED)
    saved = trial.settled(DECODE)
    parameters = cluster.hand_over(PREFILL, mine)
    with cluster.stopped(DECODE):
        question = cluster.question(DECODE, mine, 4 * TOKENS, parameters)
        trial.poked(PREFILL, lambda: cluster.metric(PREFILL, _EXPIRED) > expired, "P's lease has run out")
        others = [trial.prompt(_LONG) for _ in range(_MANY)]
        trial.exact(PREFILL, others, "delayed acknowledgement: others in P's pages")
    answer = question.tokens()
    wrong = answer != trial.expected(mine, 4 * TOKENS)
    print(f"seen: what D answers from pages that were others' is {'wrong' if wrong else 'exact'}", flush=True)
    trial.shown(cluster.has_said(DECODE, "is not saved: its prompt's pages came"), "delayed acknowledgement: D says so")
    again = [mine, mine + answer + [9, 8, 7]]
    trial.shown(trial.settled(DECODE) == saved, "delayed acknowledgement: and has saved nothing of it")
    trial.exact(DECODE, again, "delayed acknowledgement: D, asked again, uses nothing of it")
    trial.exact(PREFILL, again, "delayed acknowledgement: the second turn, restored by P")


def decode_restart(trial: Trial) -> None:
    """D is killed while a transfer is under way, and P's lease runs out."""
    cluster = trial.cluster
    expired = cluster.metric(PREFILL, _EXPIRED)
    mine = trial.prompt(_LONG)
    with trial.transfer(mine) as question:
        cluster.kill(DECODE)
    cluster.until(lambda: question.has_ended, "the client has no answer")
    if trial.outlives(
        PREFILL, lambda: cluster.metric(PREFILL, _EXPIRED) > expired and trial.usage(PREFILL) == 0, "P's lease runs out"
    ):
        trial.shown(True, "restart: P's pages come free when its lease has run out")
    else:
        print("seen: P has ended with D, which was reading from it", flush=True)
        cluster.start(PREFILL)
        trial.saves(PREFILL, PREFILL)
    cluster.start(DECODE)
    trial.saves(DECODE, DECODE)
    trial.serves()
    trial.exact(ROUTER, [mine, trial.prompt(_LONG)], "restart: with another D")


ALL: dict[str, Callable[[Trial], None]] = {
    "cancellation": cancellation,
    "delayed-acknowledgement": delayed_acknowledgement,
    "decode-restart": decode_restart,
    "peer-loss": peer_loss,
    "partial-submission": partial_submission,
}
"""By name, in an order in which each leaves what the next one needs."""
