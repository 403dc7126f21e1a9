"""How an exception crosses to the parent: as facts, never as a pickle.

What a classifier reads must survive: the class by name along its ancestors, arguments, simple attributes, status and
headers of a response, causes, members of a group, and the traceback as a note for the operator.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import functools
import sys
import traceback
from types import SimpleNamespace
from typing import Any

from pydantic_core import from_json, to_json

from failsoft.core.errors import AgentError, make_error

__all__ = ["pack", "unpack"]

_DEPTH, _MEMBERS, _TEXT = 6, 10, 4000
_SIMPLE = (str, int, float, bool, type(None))


def pack(exc: BaseException) -> bytes:
    """An exception as JSON."""
    return to_json(_facts(exc, _DEPTH), fallback=lambda value: repr(value)[:_TEXT], inf_nan_mode="constants")


def unpack(text: bytes) -> BaseException:
    """The exception again: of its own class where this process has it loaded, else of one that looks like it."""
    return _revive(from_json(text))


def _facts(exc: BaseException, depth: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "types": [f"{cls.__module__}:{cls.__qualname__}" for cls in type(exc).__mro__[:-1]],
        "args": [_simple(arg) for arg in exc.args],
        "fields": {name: value for name, value in vars(exc).items() if _is_plain(value)},
        "notes": [str(note) for note in getattr(exc, "__notes__", ())],
    }
    if isinstance(exc, AgentError):
        facts["agent"] = {**exc.fields(), "context": _jsonable(exc.context)}
        facts["fields"] = {}
    for name in ("errno", "strerror", "filename", "code"):
        if isinstance(getattr(exc, name, exc), _SIMPLE):
            facts["fields"].setdefault(name, getattr(exc, name))
    response = getattr(exc, "response", None)
    if response is not None:
        facts["response"] = _response(response)
    if depth > 0:
        facts["cause"] = None if exc.__cause__ is None else _facts(exc.__cause__, depth - 1)
        hidden = exc.__suppress_context__ or exc.__context__ is None or exc.__context__ is exc.__cause__
        facts["context"] = None if hidden else _facts(exc.__context__, depth - 1)  # type: ignore[arg-type]
        if isinstance(exc, BaseExceptionGroup):
            facts["members"] = [_facts(member, depth - 1) for member in exc.exceptions[:_MEMBERS]]
    if depth == _DEPTH:
        facts["trace"] = "".join(traceback.format_tb(exc.__traceback__))[-_TEXT:]
    return facts


def _is_plain(value: Any, depth: int = 3) -> bool:
    if isinstance(value, list | tuple):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and all(isinstance(k, str) and _is_plain(v, depth - 1) for k, v in value.items())
    return isinstance(value, _SIMPLE)


def _simple(value: Any) -> Any:
    return value if _is_plain(value) else repr(value)[:_TEXT]


def _jsonable(context: dict[str, Any]) -> dict[str, Any]:
    return {str(name): _simple(value) for name, value in context.items()}


def _response(response: Any) -> dict[str, Any]:
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    try:
        headers = {str(name): str(value) for name, value in dict(response.headers).items()}
    except (AttributeError, TypeError, ValueError):
        headers = {}
    text = getattr(response, "text", None)
    return {
        "status": status if isinstance(status, int) else None,
        "headers": headers,
        "text": text[:_TEXT] if isinstance(text, str) else None,
    }


def _revive(facts: dict[str, Any]) -> BaseException:
    exc = _made(facts)
    if facts.get("response"):
        told = facts["response"]
        exc.__dict__["response"] = SimpleNamespace(
            status_code=told["status"], status=told["status"], headers=told["headers"], text=told["text"]
        )
    for note in facts["notes"]:
        exc.add_note(note)
    if facts.get("trace"):
        exc.add_note("in the worker process:\n" + facts["trace"])
    if facts.get("cause"):
        exc.__cause__ = _revive(facts["cause"])
    if facts.get("context"):
        exc.__context__ = _revive(facts["context"])
    return exc


def _made(facts: dict[str, Any]) -> BaseException:
    if "agent" in facts:
        fields = dict(facts["agent"])
        return make_error(fields.pop("kind"), fields.pop("message"), **fields)
    cls, args = _class(tuple(facts["types"])), tuple(facts["args"])
    if issubclass(cls, BaseExceptionGroup):
        members = [_revive(member) for member in facts.get("members") or ()]
        return ExceptionGroup(
            str(args[0]) if args else "", [m for m in members if isinstance(m, Exception)] or [RuntimeError()]
        )
    try:
        # Elsewhere without its __init__, whose parameters are not known here.
        exc: BaseException = cls(*args) if cls.__module__ == "builtins" else cls.__new__(cls, *args)
        exc.args = args
    except Exception:  # such as UnicodeDecodeError, whose arguments are not all simple
        exc = _lookalike(tuple(facts["types"]), Exception)(*args)
    for name, value in facts["fields"].items():
        with contextlib.suppress(Exception):  # a read-only property, or one with a rule of its own
            setattr(exc, name, value)
    return exc


def _class(types: tuple[str, ...]) -> type[BaseException]:
    """The class of the first name that is loaded here; a stand-in below it for the names before."""
    for i, dotted in enumerate(types):
        module, _, qualname = dotted.partition(":")
        found: Any = builtins if module == "builtins" else sys.modules.get(module)
        for name in qualname.split("."):
            found = getattr(found, name, None)
        if isinstance(found, type) and issubclass(found, Exception | asyncio.CancelledError):
            return found if i == 0 else _lookalike(types[:i], found)  # type: ignore[arg-type]
    return _lookalike(types, Exception)


@functools.lru_cache(256)
def _lookalike(types: tuple[str, ...], base: type[BaseException]) -> type[BaseException]:
    """A class with the same names along its ancestors, for rules that go by name."""
    for dotted in reversed(types):
        module, _, qualname = dotted.partition(":")
        base = type(qualname.rpartition(".")[2], (base,), {"__module__": module, "__qualname__": qualname})
    return base
