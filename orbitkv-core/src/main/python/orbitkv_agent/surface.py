"""What an adapter uses of an engine, compared with a record of the release that it was made for.

Engines call their interfaces for caches experimental: names and fields move between releases. An engine that differs
would fail in the middle of a request, or worse, would not. So one that differs is refused when it starts.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional


class Surface(NamedTuple):
    """Names of an engine, by what is recorded of them."""

    whole: tuple[tuple[str, str], ...] = ()
    """Classes of which everything public is part of the contract: module and name."""
    fields: tuple[tuple[str, str], ...] = ()
    """Classes whose fields are, in their order."""
    members: tuple[tuple[str, Optional[str], tuple[str, ...]], ...] = ()
    """Functions and properties; without a class, of a module."""
    attributes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Attributes that objects get when they are made."""

    def observed(self) -> dict[str, str]:
        """Returns what is there, by name: parameters of functions, fields in their order, members of enums."""
        found = dict(self._describe())
        return {name: found[name] for name in sorted(found)}

    def difference(self, record: str) -> Optional[str]:
        """Returns how the engine differs from the record in a file; nothing if it does not."""
        with open(record, encoding="utf-8") as file:
            expected: dict[str, str] = json.load(file)
        found = self.observed()
        differing = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        if not differing:
            return None
        first = differing[0]
        return (
            f"{len(differing)} of {len(expected)} names that OrbitKV uses differ; the first is {first}: expected"
            f" {expected.get(first, 'none')}, found {found.get(first, 'none')}"
        )

    def _describe(self) -> Iterator[tuple[str, str]]:
        for module, name in self.whole:
            owner = _get(module, name)
            for member in vars(owner):
                if not member.startswith("_") or member == "__init__":
                    yield f"{module}.{name}.{member}", _member(owner, member)
        for module, name in self.fields:
            yield f"{module}.{name}", _fields(_get(module, name))
        for module, of, members in self.members:
            owner = _get(module, of)
            for member in members:
                yield f"{module}.{member}" if of is None else f"{module}.{of}.{member}", _member(owner, member)
        for module, name, members in self.attributes:
            code = getattr(_get(module, name).__init__, "__code__", None)
            for member in members:
                assigned = code is not None and member in code.co_names
                yield f"{module}.{name}.{member}", "attribute" if assigned else "none"


def _get(module: str, owner: str | None) -> Any:
    try:
        found = importlib.import_module(module)
        return found if owner is None else getattr(found, owner)
    except (ImportError, AttributeError):
        return type("Missing", (), {})


def _fields(owner: Any) -> str:
    if isinstance(owner, enum.EnumMeta):
        members: dict[str, Any] = dict(owner.__members__)
        return " ".join(f"{name}={member.value!r}" for name, member in members.items())
    if dataclasses.is_dataclass(owner):
        missing = dataclasses.MISSING
        return " ".join(
            field.name if field.default is missing and field.default_factory is missing else f"{field.name}="
            for field in dataclasses.fields(owner)
        )
    return " ".join(getattr(owner, "__struct_fields__", ()))


def _member(owner: Any, name: str) -> str:
    value = inspect.getattr_static(owner, name, None)
    if value is None:
        return "none"
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return "property"
    kind = ""
    if isinstance(value, (classmethod, staticmethod)):
        kind = f"{type(value).__name__} "
        value = value.__func__
    value = inspect.unwrap(value) if callable(value) else value
    code = getattr(value, "__code__", None)
    if code is None:
        return repr(getattr(value, "value", value))
    return kind + _parameters(value, code)


def _parameters(function: Any, code: Any) -> str:
    # By hand: inspect.signature takes a hundred times as long, and this runs whenever a process of an engine starts.
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    optional = len(positional) - len(function.__defaults__ or ())
    words = [name if index < optional else f"{name}=" for index, name in enumerate(positional)]
    rest = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        words.append(f"*{code.co_varnames[rest]}")
        rest += 1
    elif keywords:
        words.append("*")
    words += [f"{name}=" if name in (function.__kwdefaults__ or {}) else name for name in keywords]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        words.append(f"**{code.co_varnames[rest]}")
    return f"({', '.join(words)})"
