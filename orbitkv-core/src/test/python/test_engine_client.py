"""How an engine and the adapter in an agent come to know each other, in particular when that takes long."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, Optional, Union
from unittest import mock

import msgspec

from orbitkv_agent import greeting
from orbitkv_agent.engine_client import EngineClient, Identity
from orbitkv_agent.engine_messages import Attached, Hello, Identified, Identify, Identifying, Refused, Welcome
from orbitkv_wire.messages import Int64, Message, Refusal, probe

NAMESPACE = bytes(range(32))
IDENTITY = Identity("/models/m", b"", ("/adapters/a",), (("name", "value"),))
HELLO = Hello(1, "test", "1.0", probe())
SOON_S = 20.0
"""Ample, so that a busy machine fails no test."""


class Attach(Message, frozen=True, tag=3):
    namespace: bytes


class Ask(Message, frozen=True, tag=4):
    pass


class Told(Message, frozen=True, tag=6):
    number: Int64


Request = Union[Hello, Identify, Attach, Ask]
Reply = Union[Welcome, Refused, Identifying, Identified, Attached, Told]


class Client(EngineClient):
    """An engine's client with one question."""

    began = 0

    def ask(self) -> Optional[int]:
        told = self._asked(Told, Ask())
        return None if told is None else told.number

    def _began(self) -> None:
        self.began += 1


class Adapter:
    """Serves one connection after the other, and says what a test has it say."""

    def __init__(self, path: str) -> None:
        self.requests: list[Message] = []
        self.said: Callable[[Message], Optional[Message]] = self.answer
        """Returns the reply; nothing hangs up."""
        self._path = path
        self._open = True
        self._connection: Optional[socket.socket] = None
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(4)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @staticmethod
    def answer(request: Message) -> Message:
        if isinstance(request, Hello):
            return Welcome(1, "fake", 1)
        if isinstance(request, Identify):
            return Identified(NAMESPACE)
        return Attached(True) if isinstance(request, Attach) else Told(7)

    def of(self, kind: type) -> int:
        return sum(isinstance(request, kind) for request in self.requests)

    def close(self) -> None:
        """Ends, as a killed process does."""
        self._open = False
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        if self._connection is not None:
            try:
                self._connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._thread.join()
        os.unlink(self._path)

    def _serve(self) -> None:
        decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Request)
        while True:
            try:
                self._connection, _ = self._listening.accept()
            except OSError:
                return
            if not self._open:
                # Accepted while this one was ending.
                self._connection.close()
                return
            with self._connection as connection, connection.makefile("rb") as stream:
                try:
                    while header := stream.read(4):
                        request = decoder.decode(stream.read(int.from_bytes(header, "big")))
                        self.requests.append(request)
                        reply = self.said(request)
                        if reply is None:
                            break
                        body = msgspec.msgpack.encode(reply)
                        connection.sendall(len(body).to_bytes(4, "big") + body)
                except OSError:
                    pass


class EngineClientTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "engine.sock")
        self.adapter: Optional[Adapter] = None
        self.addCleanup(self.stop)
        self.client = self.connecting()

    def connecting(self, attaches: bool = True, **options: Any) -> Client:
        answers: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
        client = Client(
            self.path, hello=HELLO, identity=IDENTITY, answers=answers, attach=Attach if attaches else None,
            log=logging.getLogger("test"), **{"deadline_s": SOON_S, "retry_s": 0.01, "max_retry_s": 0.02, **options})
        self.addCleanup(client.close)
        return client

    def start(self, said: Optional[Callable[[Message], Optional[Message]]] = None) -> Adapter:
        self.adapter = Adapter(self.path)
        if said is not None:
            self.adapter.said = said
        return self.adapter

    def stop(self) -> None:
        if self.adapter is not None:
            self.adapter.close()
            self.adapter = None

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SOON_S
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)

    def test_it_says_who_it_is_and_what_its_blocks_are(self) -> None:
        adapter = self.start()
        self.assertTrue(self.client.prepare(SOON_S))
        identify = Identify("/models/m", b"", ["/adapters/a"], [("name", "value")])
        self.assertEqual([HELLO, identify, Attach(NAMESPACE)], adapter.requests)
        self.assertEqual((NAMESPACE, 1, 1), (self.client.namespace(), self.client.connections, self.client.began))
        self.assertEqual(7, self.client.ask())
        self.assertTrue(self.client.prepare())
        self.assertEqual(4, len(adapter.requests))

    def test_without_an_agent_there_is_nothing_at_once(self) -> None:
        self.assertFalse(self.client.prepare())
        self.assertIsNone(self.client.namespace())
        self.assertIsNone(self.client.ask())
        self.until(lambda: "FileNotFoundError" in self.client.trouble)

    def test_an_agent_that_comes_is_found(self) -> None:
        self.assertFalse(self.client.prepare(0.05))
        self.start()
        self.assertTrue(self.client.prepare(SOON_S))
        self.assertEqual("", self.client.trouble)

    def test_one_that_takes_two_seconds_for_its_first_answer_is_ready_then_and_nobody_waits_for_it(self) -> None:
        slow = threading.Event()

        def said(request: Message) -> Message:
            if isinstance(request, Hello):
                slow.wait(SOON_S)
            return Adapter.answer(request)

        adapter = self.start(said)
        client = self.connecting(deadline_s=0.05)
        began = time.monotonic()
        calls = 0
        # As often as steps are taken: a call that waited for the answer would wait for itself.
        while calls < 100 or time.monotonic() - began < 2.0:
            self.assertFalse(client.prepare())
            self.assertIsNone(client.ask())
            calls += 1
            self.assertLess(time.monotonic() - began, SOON_S)
            time.sleep(0.001)
        slow.set()
        self.assertTrue(client.prepare(SOON_S))
        self.assertEqual((1, 1), (adapter.of(Hello), client.connections))

    def test_the_namespace_alone_attaches_nothing_and_keeps_no_connection(self) -> None:
        adapter = self.start()
        client = self.connecting(attaches=False)
        self.assertEqual(NAMESPACE, client.namespace(SOON_S))
        self.assertFalse(client.prepare(0.05))
        self.assertEqual((1, 1, 0), (adapter.of(Hello), adapter.of(Identify), adapter.of(Attach)))
        # The next one is served: the first has hung up.
        self.assertTrue(self.client.prepare(SOON_S))

    def test_an_agent_that_reads_files_is_asked_again_over_the_same_connection(self) -> None:
        left = [Identifying(0, 2), Identifying(1, 2)]
        adapter = self.start(lambda request: left.pop() if left and isinstance(request, Identify) else Adapter.answer(
            request))
        self.assertTrue(self.client.prepare(SOON_S))
        self.assertEqual((1, 3), (adapter.of(Hello), adapter.of(Identify)))

    def test_an_agent_without_a_cache_is_asked_again_over_the_same_connection(self) -> None:
        left = [Attached(False)]
        adapter = self.start(lambda request: left.pop() if left and isinstance(request, Attach) else Adapter.answer(
            request))
        self.assertEqual(NAMESPACE, self.client.namespace(SOON_S))
        self.assertTrue(self.client.prepare(SOON_S))
        self.assertEqual((1, 2), (adapter.of(Hello), adapter.of(Attach)))

    def test_a_refusal_says_why_and_it_begins_anew(self) -> None:
        adapter = self.start(lambda request: Refused(Refusal.REFUSED, "an engine of another release"))
        self.assertFalse(self.client.prepare())
        self.until(lambda: adapter.of(Hello) > 2)
        self.assertEqual("REFUSED: an engine of another release", self.client.trouble)
        adapter.said = Adapter.answer
        self.assertTrue(self.client.prepare(SOON_S))

    def test_an_agent_that_dies_costs_one_answer_and_the_next_one_is_found_without_being_asked_for(self) -> None:
        self.start()
        self.assertTrue(self.client.prepare(SOON_S))
        self.stop()
        self.assertIsNone(self.client.ask())
        self.assertFalse(self.client.ready)
        adapter = self.start()
        self.until(lambda: adapter.of(Attach) == 1)
        self.assertTrue(self.client.prepare(SOON_S))
        self.assertEqual((2, 2, 7), (self.client.connections, self.client.began, self.client.ask()))

    def test_an_agent_that_hangs_costs_the_deadline_and_the_connection(self) -> None:
        going_on = threading.Event()
        self.addCleanup(going_on.set)

        def said(request: Message) -> Message:
            if isinstance(request, Ask):
                going_on.wait()
            return Adapter.answer(request)

        self.start(said)
        client = self.connecting(deadline_s=0.005)
        self.assertTrue(client.prepare(SOON_S))
        began = time.monotonic()
        self.assertIsNone(client.ask())
        self.assertLess(time.monotonic() - began, SOON_S)
        self.assertFalse(client.ready)
        self.assertIn("TimeoutError", client.trouble)

    def test_a_fault_is_logged_once(self) -> None:
        logging.disable(logging.NOTSET)
        adapter = self.start(lambda request: Refused(Refusal.REFUSED, "an engine of another release"))
        with self.assertLogs("test", logging.WARNING) as logged:
            self.assertFalse(self.client.prepare())
            self.until(lambda: adapter.of(Hello) > 3)
        self.assertEqual(1, len(logged.records), logged.output)
        self.assertIn(f"no agent at {self.path}: REFUSED: an engine of another release", logged.output[0])

    def test_an_agent_that_does_not_listen_yet_is_nothing_to_speak_of_until_it_should(self) -> None:
        logging.disable(logging.NOTSET)
        with self.assertNoLogs("test", logging.WARNING):
            self.assertFalse(self.client.prepare(0.1))
        with self.assertLogs("test", logging.WARNING) as logged, mock.patch.object(greeting, "_STARTING_S", 0.0):
            self.until(lambda: len(logged.records) > 0)
            self.assertFalse(self.client.prepare(0.1))
        self.assertEqual(1, len(logged.records), logged.output)
        self.assertIn("FileNotFoundError", logged.output[0])

    def test_closing_waits_for_no_answer_and_nothing_is_tried_any_more(self) -> None:
        going_on = threading.Event()
        self.addCleanup(going_on.set)

        def said(request: Message) -> Message:
            going_on.wait()
            return Adapter.answer(request)

        adapter = self.start(said)
        self.assertFalse(self.client.prepare())
        self.until(lambda: adapter.of(Hello) == 1)
        began = time.monotonic()
        with mock.patch.object(greeting, "_END_S", 2 * SOON_S):
            self.client.close()
        self.assertLess(time.monotonic() - began, SOON_S)
        self.assertFalse(self.client.prepare(0.05))
        self.assertEqual("", self.client.trouble)
        self.assertEqual(1, adapter.of(Hello))

    def test_closing_hangs_up_what_nobody_took(self) -> None:
        adapter = self.start()
        self.assertFalse(self.client.prepare())
        self.until(lambda: adapter.of(Attach) == 1)
        self.client.close()
        # The next one is served.
        self.assertTrue(self.connecting().prepare(SOON_S))

    def test_a_forked_child_asks_nothing_and_starts_nothing(self) -> None:
        self.start()
        self.assertTrue(self.client.prepare(SOON_S))
        other = self.connecting()
        # The thread that connected may be about to end.
        self.until(lambda: not any(thread.name == "orbitkv-greeting" for thread in threading.enumerate()))
        threads = threading.active_count()
        self.client._pid = other._pid = -1
        self.assertIsNone(self.client.ask())
        self.assertFalse(other.prepare())
        self.assertIsNone(other.namespace())
        self.assertEqual(threads, threading.active_count())


if __name__ == "__main__":
    unittest.main()
