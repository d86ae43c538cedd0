"""Frames over a socket, whole, in pieces, broken and random."""

from __future__ import annotations

import pathlib
import json
import random
import socket
import threading
import time
import unittest

from orbitkv_wire import ClosedError, Connection, MalformedError
from orbitkv_wire.messages import Committed, Enqueued, Poll, Query

_VECTORS = pathlib.Path(__file__).parent.parent / "resources" / "wire-1.jsonl"


def _late() -> float:
    return time.monotonic() + 60


class ConnectionTest(unittest.TestCase):
    def setUp(self) -> None:
        ours, self.peer = socket.socketpair()
        self.addCleanup(self.peer.close)
        self.connection = Connection(ours, max_frame_bytes=4 << 20)
        self.addCleanup(self.connection.close)

    def test_frame_larger_than_any_socket_buffer_arrives(self) -> None:
        query = Query(1, 2, 3, random.Random(1).randbytes(32 * 100_000))
        sending = threading.Thread(target=lambda: Connection(self.peer).send(query, _late()))
        sending.start()
        self.assertEqual(query, self.connection.receive_request(_late()))
        sending.join()

    def test_frame_in_single_bytes_is_read_whole(self) -> None:
        def send() -> None:
            for byte in bytes.fromhex("00000003920805"):
                self.peer.sendall(bytes([byte]))

        sending = threading.Thread(target=send)
        sending.start()
        self.assertEqual(Enqueued(5), self.connection.receive_request(_late()))
        sending.join()

    def test_calls_alternate(self) -> None:
        other = Connection(self.peer)
        for i in range(3):
            other.send(Poll(1, i, 0), _late())
            self.assertEqual(Poll(1, i, 0), self.connection.receive_request(_late()))
            self.connection.send(Committed(i), _late())
            self.assertEqual(Committed(i), other.receive_reply(_late()))

    def test_end_between_frames_is_an_end(self) -> None:
        self.peer.close()
        self.assertRaises(ClosedError, self.connection.receive_reply, _late())

    def test_end_within_a_frame_is_malformed(self) -> None:
        self.peer.sendall(b"\0\0\0\3\x92")
        self.peer.close()
        with self.assertRaisesRegex(MalformedError, "after 5 bytes of it"):
            self.connection.receive_reply(_late())

    def test_frame_over_the_bound_is_refused_by_its_length_alone(self) -> None:
        self.peer.sendall(bytes.fromhex("00400001"))
        with self.assertRaisesRegex(MalformedError, "expected 1 to 4194304 bytes, found 4194305"):
            self.connection.receive_reply(_late())

    def test_message_over_the_bound_is_not_sent(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected at most 4194304"):
            self.connection.send(Query(1, 2, 3, bytes(4 << 20)), _late())
        self.connection.send(Committed(1), _late())
        self.assertEqual(Committed(1), Connection(self.peer).receive_reply(_late()))

    def test_number_that_does_not_fit_is_not_sent(self) -> None:
        with self.assertRaisesRegex(ValueError, "Enqueued"):
            self.connection.send(Enqueued(1 << 64), _late())

    def test_deadline_ends_every_wait(self) -> None:
        soon = time.monotonic() + 0.02
        self.assertRaises(TimeoutError, self.connection.receive_reply, soon)
        self.assertRaises(TimeoutError, self.connection.receive_reply, soon)
        with self.assertRaises(TimeoutError):
            self.connection.send(Query(1, 2, 3, bytes(32 * 100_000)), time.monotonic() + 0.02)

    def test_wrong_messages_are_malformed(self) -> None:
        for name, body in {
            "a number of 64 bits without a sign": "9208cfffffffffffffffff",
            "a number of 33 bits": "920fce80000000",
            "a text for a number": "9208a135",
            "a chain with half a hash": "9503010203c410" + "00" * 16,
            "a probe of 31 bytes": "960101a0" + "0101" + "c41f" + "00" * 31,
            "flags of 2": "940b09c40102c40400000000",
            "text that is not UTF-8": "9802a1ff01c420" + "00" * 32 + "01010101",
            "a field less": "91" + "08",
            "a field more": "93080505",
            "nil": "c0",
            "nothing but an array": "90",
        }.items():
            with self.subTest(name):
                self.peer.sendall(len(bytes.fromhex(body)).to_bytes(4, "big") + bytes.fromhex(body))
                self.assertRaises(MalformedError, self.connection.receive_request, _late())

    def test_any_other_bytes_are_a_message_or_malformed(self) -> None:
        randomness = random.Random(7)
        for line in _VECTORS.read_text(encoding="utf-8").splitlines():
            vector = json.loads(line)
            receive = {
                "request": self.connection.receive_request, "reply": self.connection.receive_reply}[vector["side"]]
            whole = bytes.fromhex(vector["hex"])
            for _ in range(100):
                body = bytearray(whole[: randomness.randint(1, len(whole))])
                body[randomness.randrange(len(body))] ^= 1 << randomness.randrange(8)
                self.peer.sendall(len(body).to_bytes(4, "big") + body)
                try:
                    receive(_late())
                except MalformedError:
                    pass
