"""The same committed bytes that the Java side is tested with."""

from __future__ import annotations

import json
import pathlib
import re
import struct
import typing
import unittest

import msgspec

from orbitkv_wire import messages

_VECTORS = pathlib.Path(__file__).parent.parent / "resources" / "wire-1.jsonl"
_RENAMED = {"from": "first", "to": "end"}


def _vectors() -> list[dict[str, typing.Any]]:
    return [json.loads(line) for line in _VECTORS.read_text(encoding="utf-8").splitlines()]


def _snake(name: str) -> str:
    return _RENAMED.get(name) or re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def _bytes(name: str, value: typing.Any) -> bytes:
    if isinstance(value, str):
        return bytes.fromhex(value)
    form = {"copied": "B", "crcs": "i", "shards_at": "q"}[name]
    return struct.pack(f">{len(value)}{form}", *value)


def _message(kind: type[typing.Any], fields: dict[str, typing.Any]) -> typing.Any:
    """Makes a message of a vector's fields."""
    values: dict[str, typing.Any] = {}
    for name, value in fields.items():
        values[_snake(name)] = value
    for field in msgspec.structs.fields(kind):
        value = values[field.name]
        declared = field.type
        while typing.get_origin(declared) is typing.Annotated:
            declared = typing.get_args(declared)[0]
        if declared is bytes:
            values[field.name] = _bytes(field.name, value)
        elif declared is messages.CacheStats:
            values[field.name] = _message(messages.CacheStats, value)
        else:
            values[field.name] = msgspec.convert(value, field.type)
    return kind(**values)


class VectorsTest(unittest.TestCase):
    def test_every_message_is_written_as_committed(self) -> None:
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                message = _message(getattr(messages, vector["message"]), vector["fields"])
                self.assertEqual(vector["hex"], msgspec.msgpack.encode(message).hex())

    def test_every_message_is_read_as_it_was_written(self) -> None:
        sides = {"request": messages.Request, "reply": messages.Reply}
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                message = _message(getattr(messages, vector["message"]), vector["fields"])
                side = sides[vector["side"]]
                self.assertEqual(message, msgspec.msgpack.decode(bytes.fromhex(vector["hex"]), type=side))

    def test_every_kind_of_message_has_a_vector(self) -> None:
        kinds = {kind.__name__ for side in (messages.Request, messages.Reply) for kind in typing.get_args(side)}
        self.assertEqual(kinds, {vector["message"] for vector in _vectors()})

    def test_probe_is_that_of_the_other_side(self) -> None:
        hello = next(vector for vector in _vectors() if vector["message"] == "Hello")
        self.assertEqual(hello["fields"]["probe"], messages.probe().hex())

    def test_offsets_are_read_from_a_grant(self) -> None:
        grant = messages.Granted(1, struct.pack(">3q", 0, 4096, messages.UNWANTED))
        self.assertEqual((0, 4096, messages.UNWANTED), grant.offsets())
