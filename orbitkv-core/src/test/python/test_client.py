"""What a scheduler gets from the Manager, and from one that is gone, stopped, restarted or out of its mind."""

from __future__ import annotations

import contextlib
import logging
import pathlib
import socket
import tempfile
import time
import unittest
import unittest.mock
from typing import Callable, Optional

from fake_manager import CLOSE, HANG, HIT, Answer, FakeManager, frame
from orbitkv_wire import Lease, ManagerClient, Refusal, Standing
from orbitkv_wire.messages import (
    Answered, Cancel, Done, Granted, Hello, Leave, Poll, Query, Refused, Register, Release, Request, Stats)

_CHAIN = bytes(range(96))
_LONG_S = 30.0
_SHORT_S = 0.02
_NAMESPACE = bytes(32)


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _to(kind: type[Request], answer: Answer) -> Callable[[Request], Optional[Answer]]:
    return lambda request: answer if isinstance(request, kind) else None


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.getLogger("orbitkv_wire").setLevel(logging.CRITICAL)
        self.contexts = contextlib.ExitStack()
        self.addCleanup(self.contexts.close)
        self.folder = pathlib.Path(self.contexts.enter_context(tempfile.TemporaryDirectory()))
        self.clock = _Clock()
        self.client = ManagerClient(
            self.folder / "manager.sock", instance="test", incarnation=42, namespace=_NAMESPACE, ranks=1,
            shard_bytes=4096, deadline_s=_LONG_S, retry_s=1.0, max_retry_s=4.0, clock=self.clock)
        self.contexts.callback(self.client.close)

    def manager(self, incarnation: int = 1) -> FakeManager:
        return self.contexts.enter_context(FakeManager(self.folder, incarnation))

    def query(self, deadline_s: Optional[float] = None) -> Standing:
        return self.client.query(1, 1, _CHAIN, deadline_s=deadline_s).standing

    def test_query_that_hits_has_a_lease(self) -> None:
        manager = self.manager()
        answer = self.client.query(5, 2, _CHAIN)
        self.assertEqual((Standing.HIT, 3, "NOT_STORED"), (answer.standing, answer.blocks, answer.reason))
        self.assertEqual(Lease(manager=1, generation=1, number=7, bytes=4096), answer.lease)
        self.assertEqual([Query(1, 5, 2, _CHAIN)], manager.asked(Query))

    def test_chain_is_bytes_or_hashes(self) -> None:
        manager = self.manager()
        self.client.query(1, 1, [_CHAIN[:32], _CHAIN[32:64], _CHAIN[64:]])
        self.client.query(1, 1, memoryview(_CHAIN))
        self.assertEqual([Query(1, 1, 1, _CHAIN)] * 2, manager.asked(Query))

    def test_other_requests_carry_the_generation(self) -> None:
        manager = self.manager()
        lease = self.client.query(1, 1, _CHAIN).lease
        assert lease is not None
        self.client.poll(1, 2)
        self.client.cancel(1, 3)
        self.client.release(lease)
        self.assertIsNone(self.client.stats())
        self.client.close()
        self.assertEqual([Poll(1, 1, 2), Cancel(1, 1, 3), Release(1, 7), Stats(), Leave(1)], manager.requests[3:])

    def test_standing_is_passed_on(self) -> None:
        manager = self.manager()
        for standing in (Standing.PENDING, Standing.BUSY, Standing.EXPIRED, Standing.CANCELLED):
            manager.answer = _to(Query, Answered(standing, 0, 0, 0, 3, "", "because"))
            answer = self.client.query(1, 1, _CHAIN)
            self.assertEqual((standing, None, 0, "because"), (
                answer.standing, answer.lease, answer.blocks, answer.bound))

    def test_refused_query_is_a_miss(self) -> None:
        self.manager().answer = _to(Query, Refused(Refusal.UNAVAILABLE, "no"))
        answer = self.client.query(1, 1, _CHAIN)
        self.assertEqual((Standing.MISS, "UNAVAILABLE"), (answer.standing, answer.reason))
        self.assertTrue(self.client.registered)

    def test_without_a_manager_every_call_is_a_miss(self) -> None:
        self.assertEqual("NO_MANAGER", self.client.query(1, 1, _CHAIN).reason)
        self.assertEqual(Standing.MISS, self.client.poll(1, 1).standing)
        self.assertIsNone(self.client.stats())
        self.client.cancel(1, 1)
        self.client.release(Lease(manager=1, generation=1, number=7, bytes=4096))
        self.assertIn("FileNotFoundError", self.client.trouble)

    def test_socket_is_left_alone_until_it_is_time(self) -> None:
        self.query()
        manager = self.manager()
        self.clock.now = 0.999
        self.assertEqual(Standing.MISS, self.query())
        self.assertEqual([], manager.requests)
        self.clock.now = 1.0
        self.assertEqual(Standing.HIT, self.query())
        self.assertEqual("", self.client.trouble)

    def test_interval_doubles_up_to_its_cap_and_starts_anew(self) -> None:
        manager = self.manager()
        manager.answer = _to(Hello, Refused(Refusal.REFUSED, "protocol 1, expected 2"))
        tried = []
        for step in range(40):
            self.clock.now = step / 2
            before = len(manager.requests)
            self.assertEqual(Standing.MISS, self.query())
            if len(manager.requests) > before:
                tried.append(self.clock.now)
        self.assertEqual([0, 1, 3, 7, 11, 15, 19], tried)
        self.assertEqual("_RefusedError: REFUSED: protocol 1, expected 2", self.client.trouble)

        manager.answer = lambda request: None
        self.clock.now = 23
        self.assertEqual(Standing.HIT, self.query())
        manager.answer = _to(Query, CLOSE)
        self.query()
        manager.answer = lambda request: None
        self.clock.now = 24
        self.assertEqual(Standing.HIT, self.query())

    def test_answer_that_does_not_come_is_a_miss_in_time(self) -> None:
        manager = self.manager()
        self.query()
        manager.answer = _to(Query, HANG)
        begun = time.monotonic()
        self.assertEqual(Standing.MISS, self.query(_SHORT_S))
        self.assertLess(time.monotonic() - begun, _LONG_S)
        self.assertFalse(self.client.registered)

    def test_manager_that_does_not_accept_is_a_miss_in_time(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(self.folder / "manager.sock"))
            listening.listen(0)
            for second in range(0, 40, 10):
                self.clock.now = second
                self.assertEqual(Standing.MISS, self.query(_SHORT_S))

    def test_broken_answers_end_the_connection(self) -> None:
        manager = self.manager()
        whole = frame(HIT)
        broken: dict[str, Answer] = {
            "nothing": CLOSE,
            "half a frame": whole[:9],
            "half a length": whole[:2],
            "no message": b"\0\0\0\0",
            "too long": b"\x7f\xff\xff\xff",
            "more behind it": whole + b"\0",
            "another tag": b"\0\0\0\2\x91\x63",
            "no array": b"\0\0\0\1\x09",
            "a field too many": b"\0\0\0\3\x92\x09\x09",
            "an unknown standing": whole.replace(b"HIT", b"HAT"),
        }
        for name, answer in broken.items():
            with self.subTest(name):
                self.clock.now += 100
                manager.answer = _to(Query, answer)
                self.assertEqual(Standing.MISS, self.query(_SHORT_S))
                self.assertFalse(self.client.registered)
                manager.answer = lambda request: None
                self.clock.now += 100
                self.assertEqual(Standing.HIT, self.query())

    def test_answer_of_another_kind_is_a_miss(self) -> None:
        self.manager().answer = _to(Query, Granted(1, b""))
        self.assertEqual(Standing.MISS, self.query())

    def test_hello_answered_by_another_kind_is_a_miss(self) -> None:
        self.manager().answer = _to(Hello, Done())
        self.assertEqual(Standing.MISS, self.query())
        self.assertEqual("MalformedError: reply: expected Welcome, found Done", self.client.trouble)

    def test_reconnecting_registers_the_same_incarnation(self) -> None:
        manager = self.manager()
        self.query()
        manager.answer = _to(Query, CLOSE)
        self.query()
        manager.answer = lambda request: None
        self.clock.now = 1.0
        self.assertEqual(Standing.HIT, self.query())
        self.assertEqual(
            [Register("test", 42, _NAMESPACE, 1, 4096, 0, -1)] * 2, manager.asked(Register))

    def test_lease_of_another_registration_is_not_released(self) -> None:
        with FakeManager(self.folder, incarnation=1):
            lease = self.client.query(1, 1, _CHAIN).lease
            assert lease is not None
        self.assertEqual(Standing.MISS, self.query())
        manager = self.manager(incarnation=2)
        self.clock.now = 1.0
        self.assertEqual(Standing.HIT, self.query())
        self.client.release(lease)
        self.assertEqual([], manager.asked(Release))

    def test_superseded_registration_is_replaced(self) -> None:
        manager = self.manager()
        self.query()
        manager.answer = _to(Query, Refused(Refusal.SUPERSEDED, "rank 1 is gone"))
        answer = self.client.query(1, 1, _CHAIN)
        self.assertEqual((Standing.MISS, "SUPERSEDED"), (answer.standing, answer.reason))
        manager.answer = lambda request: None
        self.assertEqual(Standing.MISS, self.query())
        self.clock.now = 1.0
        self.assertEqual(Standing.HIT, self.query())
        self.assertEqual(1, len(manager.asked(Hello)))
        self.assertEqual(2, len(manager.asked(Register)))

    def test_mistake_of_the_caller_is_a_miss_and_costs_nothing(self) -> None:
        manager = self.manager()
        self.query()
        asked = len(manager.requests)
        for operation, revision, chain in (
            (1, 1, b"x" * 33),
            (1, 1, [b"short"]),
            (1 << 63, 1, b""),
            (1, -(1 << 31) - 1, b""),
            (1, 1, bytes(32 * ((1 << 20) + 1))),
        ):
            self.assertEqual(Standing.MISS, self.client.query(operation, revision, chain).standing)
        self.assertEqual(Standing.MISS, self.query(deadline_s=0))
        self.assertEqual(asked, len(manager.requests))
        self.assertTrue(self.client.registered)

    def test_forked_child_does_not_touch_its_parents_connection(self) -> None:
        manager = self.manager()
        self.query()
        asked = len(manager.requests)
        with unittest.mock.patch("os.getpid", return_value=1):
            self.assertEqual(Standing.MISS, self.query())
        self.assertEqual(asked, len(manager.requests))

    def test_interrupted_call_ends_the_connection(self) -> None:
        self.manager()
        self.query()
        with unittest.mock.patch("orbitkv_wire.connection.Connection.call", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, self.query)
        self.assertFalse(self.client.registered)

    def test_hello_says_who_asks(self) -> None:
        manager = self.manager()
        self.query()
        hello = manager.requests[0]
        assert isinstance(hello, Hello)
        with self.subTest("protocol"):
            self.assertEqual(1, hello.protocol)
        with self.subTest("process"):
            self.assertEqual(self.client._pid, hello.pid)
            self.assertGreater(hello.pid_namespace, 0)

    def test_namespace_of_another_length_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "length >= 32"):
            ManagerClient(
                self.folder, instance="test", incarnation=1, namespace=b"abc", ranks=1, shard_bytes=1)

    def test_number_that_does_not_fit_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "<= 2147483647"):
            ManagerClient(
                self.folder, instance="test", incarnation=1, namespace=_NAMESPACE, ranks=1, shard_bytes=1 << 31)
