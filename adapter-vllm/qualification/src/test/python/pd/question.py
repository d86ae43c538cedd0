"""A request to a server that can be waited for, or be given up as by a client that goes away."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from typing import Any, Optional, Union


class Question:
    """One request, on a connection of its own, which has been sent when this has been made."""

    def __init__(self, port: int, body: dict[str, Any], limit: float) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit)
        self._connection.request(
            "POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        self._outcome: Optional[Union[dict[str, Any], Exception]] = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def answer(self) -> dict[str, Any]:
        """Waits for the answer. ``OSError`` if there is none."""
        self._reader.join()
        if isinstance(self._outcome, dict):
            return self._outcome
        raise OSError(f"no answer: {self._outcome!r}")

    def tokens(self) -> list[int]:
        """Waits for the answer's tokens."""
        return list(self.answer()["choices"][0]["token_ids"])

    @property
    def has_ended(self) -> bool:
        """Whether there is an answer, or there will be none."""
        return not self._reader.is_alive()

    def give_up(self) -> None:
        """Goes away."""
        held = self._connection.sock
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)
        self._reader.join()

    def _read(self) -> None:
        try:
            with contextlib.closing(self._connection):
                response = self._connection.getresponse()
                text = response.read()
                if response.status == 200:
                    self._outcome = json.loads(text)
                else:
                    self._outcome = OSError(f"{response.status}: {text.decode(errors='replace')}")
        except (OSError, http.client.HTTPException, ValueError) as e:
            self._outcome = e
