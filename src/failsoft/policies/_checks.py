"""Checks of option values, all failing in the same words: what was wanted, what came, what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

from failsoft.core.errors import UsageError
from failsoft.core.kinds import ErrorKind

__all__ = ["count", "factor", "kind_word", "kind_words", "nearest", "one_of", "refuse", "seconds", "share"]

# Above it lies a slip of the fingers, below it a word of somebody's own: kinds are an open set.
_SLIP = 0.8


def refuse(where: str, wanted: str, value: object, hint: str = "") -> UsageError:
    """The error for a value that cannot work; the caller raises it."""
    return UsageError(f"{where} must be {wanted}, got {value!r}" + (f"\n\nhint: {hint}" if hint else ""))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def seconds(where: str, value: object, *, zero: bool = False) -> float:
    """A finite duration above 0, or from 0 on where `zero` is set."""
    if _is_number(value):
        try:
            duration = float(value)  # type: ignore[arg-type]
        except OverflowError:
            duration = math.inf
        if math.isfinite(duration) and (duration > 0 or (zero and duration == 0)):
            return duration
    raise refuse(where, f"a finite number of seconds {'>= 0' if zero else '> 0'}", value)


def share(where: str, value: object, *, zero: bool = False) -> float:
    """A part of one: 0.5 is a half."""
    if _is_number(value) and (0 < value <= 1 or (zero and value == 0)):  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    percent = _is_number(value) and 1 < value <= 100  # type: ignore[operator]
    hint = f"write {value}/100, not a percentage" if percent else ""
    raise refuse(where, f"a share {'from 0' if zero else 'above 0'} up to 1", value, hint)


def count(where: str, value: object, *, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise refuse(where, f"a whole number >= {least}", value)


def factor(where: str, value: object) -> float:
    """A finite growth of 1 or more."""
    if _is_number(value) and 1 <= value < math.inf:  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    raise refuse(where, "a finite number >= 1", value)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the close words, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known)
    if close:
        return "did you mean " + " or ".join(repr(name) for name in close) + "?"
    return "known: " + ", ".join(known)


def kind_word(where: str, kind: object) -> str:
    """A kind of error as a plain word: a known one, or one of the caller's own that is no slip for a known one.

    Raises:
        UsageError: It is no word, or nearly a known kind.
    """
    if not isinstance(kind, str):
        raise refuse(where, "kinds of errors as words", kind, "such as 'timeout' or ErrorKind.TIMEOUT")
    word = str(kind)
    known = [known.value for known in ErrorKind]
    if word not in known and (close := difflib.get_close_matches(word.lower(), known, cutoff=_SLIP)):
        hint = (
            f"did you mean {close[0]!r}? A kind of your own needs a name that is not so near to a known one"
        )
        raise refuse(where, "kinds of errors", word, hint)
    return word


def kind_words(where: str, kinds: object) -> frozenset[str]:
    """A collection of kinds as plain words, each checked.

    Raises:
        UsageError: It is no collection, or one of the words cannot be meant.
    """
    if isinstance(kinds, str):
        raise refuse(where, "a collection of kinds", kinds, f"write {where.rpartition('.')[2]}=[{kinds!r}]")
    if not isinstance(kinds, Iterable):
        raise refuse(where, "a collection of kinds", kinds, "such as ['timeout', 'unavailable']")
    return frozenset(kind_word(where, kind) for kind in kinds)


def one_of(where: str, value: object, words: tuple[str, ...]) -> None:
    """One of a closed set of words."""
    if value not in words:
        wanted = "one of " + ", ".join(repr(word) for word in words)
        raise refuse(where, wanted, value, nearest(value, words) if isinstance(value, str) else "")
