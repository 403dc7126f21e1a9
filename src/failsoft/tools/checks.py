"""Checks a tool's declaration when it is built: what was wanted, what came, what to do."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
from typing import Any, get_args

from failsoft.core.annotations import CATEGORY_ANNOTATIONS
from failsoft.core.errors import UsageError
from failsoft.policies import UNSET
from failsoft.tools.options import EFFECT_WORDS, IsolationMode, Options

__all__ = ["make_options"]


def make_options(given: dict[str, Any], base: Options | None = None, *, label: str | None = None) -> Options:
    """Options from keywords, or `base` with changes, checked.

    Args:
        given: The keywords.
        base: What they change.
        label: What the tool is called in errors where it has no name of its own: its function's name.

    Raises:
        UsageError: For an unknown keyword, a wrong value or a contradiction.
    """
    known = [field.name for field in dataclasses.fields(Options)]
    for word in given:
        if word not in known:
            near = difflib.get_close_matches(word, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keywords: {', '.join(known)}"
            whose = f"tool {label!r}: " if label else ""
            raise UsageError(f"{whose}a tool takes no keyword {word!r}\n\nhint: {hint}")
    values = dict(given)
    if "roles" in values:
        values["roles"] = frozenset(_words(values["roles"], "roles"))
    if values.get("identity") is not None:
        values["identity"] = tuple(_words(values["identity"], "identity"))
    options = Options(**values) if base is None else dataclasses.replace(base, **values)
    named = options if options.name is not None or label is None else dataclasses.replace(options, name=label)
    _check_name(options)
    for check in (_check_effects, _check_words, _check_numbers, _check_callables):
        check(named)
    return options


def _words(value: Any, what: str) -> list[str]:
    try:
        words = [value] if isinstance(value, str) else list(value)
    except TypeError:
        words = [value]
    for word in words:
        if not isinstance(word, str) or not word:
            raise UsageError(f"{what}: wanted words, got {word!r}\n\nhint: such as {what}=['a', 'b']")
    return words


def _fail(options: Options, text: str, hint: str) -> UsageError:
    return UsageError(f"tool {options.name or '(unnamed)'!r}: {text}\n\nhint: {hint}")


def _check_name(options: Options) -> None:
    name: Any = options.name
    if name is None:
        return
    if not isinstance(name, str) or not 1 <= len(name) <= 256:
        raise UsageError(f"a tool's name is a text of 1 to 256 characters, got {name!r}\n\nhint: give name=")
    if not name.isprintable() or name.strip() != name or any(sign in name for sign in "<>\"'`"):
        raise UsageError(
            f"a tool's name is printable and has no quotes, angle brackets or blanks around it, got {name!r}"
            "\n\nhint: give name="
        )


def _check_effects(options: Options) -> None:
    for word in (*EFFECT_WORDS, "atomic", "parallel", "poll"):
        value = getattr(options, word)
        if not (isinstance(value, bool) or (value is None and word in EFFECT_WORDS)):
            raise _fail(
                options, f"{word} is True or False, got {value!r}", f"say {word}=True or leave it out"
            )
    effects = options.annotations()
    source = (
        f" (category {options.category!r} counts too)" if options.category in CATEGORY_ANNOTATIONS else ""
    )
    if effects.read_only and effects.destructive:
        raise _fail(options, f"read_only and destructive contradict each other{source}", "drop one of them")
    if effects.read_only and effects.idempotent is False:
        raise _fail(
            options,
            f"read_only=True and idempotent=False contradict each other{source}: what changes nothing "
            "can be repeated",
            "drop one of them",
        )


def _check_words(options: Options) -> None:
    modes = get_args(IsolationMode)
    if options.isolation_mode not in modes:
        raise _fail(options, f"isolation has no {options.isolation!r}", f"one of: {', '.join(modes)}")
    if options.doubts not in (None, "model", "human"):
        raise _fail(options, f"doubts has no {options.doubts!r}", "who may resolve them: 'model' or 'human'")
    if options.approval not in ("never", "always") and not callable(options.approval):
        raise _fail(
            options,
            f"approval is 'never', 'always' or a predicate, got {options.approval!r}",
            "a predicate is a function of the arguments that returns True where a person must agree",
        )
    for word in ("version", "category", "description", "idempotency_key"):
        value = getattr(options, word)
        if not (isinstance(value, str) or (value is None and word != "version")):
            raise _fail(options, f"{word} is a text, got {value!r}", f"give {word} as a text")


def _check_numbers(options: Options) -> None:
    for word in ("timeout_s", "verify_after_s", "key_ttl_s"):
        value = getattr(options, word)
        if value is None and word != "key_ttl_s":
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < 0 or (value == 0 and word != "verify_after_s"):
            raise _fail(options, f"{word} is a positive number of seconds, got {value!r}", "such as 3 or 0.5")
    timeout: Any = options.timeout
    if options.timeout_s is not None and timeout is not UNSET:
        raise _fail(
            options,
            "timeout_s and timeout say the same thing twice",
            "timeout=Timeout(attempt_s=..., total_s=...) alone",
        )


def _check_callables(options: Options) -> None:
    for word in ("verify", "error_from_result"):
        value = getattr(options, word)
        if value is not None and not callable(value):
            raise _fail(
                options, f"{word} is a function, got {value!r}", f"hand in the function itself: {word}=fn"
            )
    if options.verify_after_s is not None and options.verify is None:
        raise _fail(options, "verify_after_s without verify", "give verify= too, or drop verify_after_s")
    returns = options.returns
    if returns is not None and not isinstance(returns, dict) and inspect.isroutine(returns):
        raise _fail(
            options, f"returns is a type or a JSON Schema, got {returns!r}", "such as returns=Weather"
        )
