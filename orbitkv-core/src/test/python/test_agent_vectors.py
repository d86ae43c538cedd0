"""The same committed bytes of the agent's messages that the Java side is tested with."""

from __future__ import annotations

import json
import pathlib
import re
import struct
import typing
import unittest

import msgspec

from orbitkv_agent import messages

_VECTORS = pathlib.Path(__file__).parent.parent / "resources" / "agent-2.jsonl"
_FORMS = {"layout": "q", "pages": "i", "transfers": "q", "loads": "B", "blocks": "i"}


def _vectors() -> list[dict[str, typing.Any]]:
    return [json.loads(line) for line in _VECTORS.read_text(encoding="utf-8").splitlines()]


def _message(kind: type[typing.Any], fields: dict[str, typing.Any]) -> typing.Any:
    """Makes a message of a vector's fields."""
    values: dict[str, typing.Any] = {}
    for name, value in fields.items():
        name = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
        if isinstance(value, list):
            value = struct.pack(f">{len(value)}{_FORMS[name]}", *value)
        elif name in ("probe", "namespace", "chain"):
            value = bytes.fromhex(value)
        values[name] = value
    for field in msgspec.structs.fields(kind):
        if not isinstance(values[field.name], bytes):
            values[field.name] = msgspec.convert(values[field.name], field.type)
    return kind(**values)


class AgentVectorsTest(unittest.TestCase):
    def test_every_message_is_written_as_committed(self) -> None:
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                message = _message(getattr(messages, vector["message"]), vector["fields"])
                self.assertEqual(vector["hex"], msgspec.msgpack.encode(message).hex())

    def test_every_message_is_read_as_it_was_written(self) -> None:
        sides = {"request": messages.Request, "reply": messages.Reply}
        for vector in _vectors():
            with self.subTest(vector["hex"]):
                read: typing.Any = msgspec.msgpack.decode(
                    bytes.fromhex(vector["hex"]), type=typing.cast(typing.Any, sides[vector["side"]]))
                self.assertEqual(_message(getattr(messages, vector["message"]), vector["fields"]), read)

    def test_there_is_a_vector_of_every_message(self) -> None:
        kinds = {kind.__name__ for side in (messages.Request, messages.Reply) for kind in typing.get_args(side)}
        self.assertEqual(kinds, {vector["message"] for vector in _vectors()})

    def test_columns_that_differ_in_length_are_malformed(self) -> None:
        with self.assertRaises(ValueError):
            messages.Finished(bytes(16), bytes(2), bytes(4))


if __name__ == "__main__":
    unittest.main()
