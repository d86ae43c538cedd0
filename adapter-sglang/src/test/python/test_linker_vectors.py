"""The same committed bytes of sglang-1's messages that the Java side is tested with."""

from __future__ import annotations

import json
import pathlib
import re
import typing
import unittest

import msgspec

from orbitkv_sglang import messages

_VECTORS = pathlib.Path(__file__).parent.parent / "resources" / "sglang-1.jsonl"
_BYTES = ("probe", "namespace", "last", "chain", "assertedDigest", "windowNamespace")


def _vectors() -> list[dict[str, typing.Any]]:
    return [json.loads(line) for line in _VECTORS.read_text(encoding="utf-8").splitlines()]


def _value(name: str, value: typing.Any) -> typing.Any:
    """Returns a value of a vector as it is on the wire."""
    if name in _BYTES:
        return bytes.fromhex(value)
    if name != "values" and isinstance(value, dict):
        return [_value(inner, of) for inner, of in value.items()]
    if isinstance(value, list):
        return [_value("", one) for one in value]
    return value


class VectorsTest(unittest.TestCase):
    def test_every_message_is_written_as_committed(self) -> None:
        sides = {"request": messages.Request, "reply": messages.Reply}
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                read: typing.Any = msgspec.msgpack.decode(
                    bytes.fromhex(vector["hex"]), type=typing.cast(typing.Any, sides[vector["side"]]))
                self.assertEqual(vector["message"], type(read).__name__)
                self.assertEqual(vector["hex"], msgspec.msgpack.encode(read).hex())

    def test_every_field_is_where_the_vector_has_it(self) -> None:
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                kind = getattr(messages, vector["message"])
                names = [re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name) for name in vector["fields"]]
                self.assertEqual(names, [field.name for field in msgspec.structs.fields(kind)])
                _, *values = msgspec.msgpack.decode(bytes.fromhex(vector["hex"]))
                self.assertEqual([_value(name, value) for name, value in vector["fields"].items()], values)

    def test_there_is_a_vector_of_every_message(self) -> None:
        kinds = {kind.__name__ for side in (messages.Request, messages.Reply) for kind in typing.get_args(side)}
        self.assertEqual(kinds, {vector["message"] for vector in _vectors()})

    def test_a_chain_that_is_cut_is_malformed(self) -> None:
        with self.assertRaises(ValueError):
            messages.Lookup("a", 0, bytes(32), bytes(31))


if __name__ == "__main__":
    unittest.main()
