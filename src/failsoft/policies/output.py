"""Output: how much of a text the model gets at once; the rest is kept and can be paged."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from failsoft.policies._checks import count

__all__ = ["MAX_CHARS", "Output", "Page", "decide"]

MAX_CHARS = 10_000
_JOINER = "\u200d"
# Longest look back for a safe place to cut; a text of nothing but combining marks must still end.
_LOOK_BACK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The limit of one answer.

    Args:
        max_chars: Characters (code points) of text that the model gets at once; default 10,000.

    Raises:
        UsageError: `max_chars` is not a whole number above 0.
    """

    max_chars: int = MAX_CHARS

    def __post_init__(self) -> None:
        count("Output.max_chars", self.max_chars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One part of a text.

    Args:
        start: Where it begins.
        end: Where it ends, exclusive.
        cut_chars: How many characters follow it.
    """

    start: int
    end: int
    cut_chars: int


def decide(output: Output | None, text: str, *, start: int = 0) -> Page:
    """Which part of `text` to show, from `start` on; a letter is never parted from its accents.

    Blocks such as images are not text: the caller keeps them whole.
    """
    start = min(max(start, 0), len(text))
    if output is None or len(text) - start <= output.max_chars:
        return Page(start=start, end=len(text), cut_chars=0)
    end = _safe(text, start, start + output.max_chars)
    return Page(start=start, end=end, cut_chars=len(text) - end)


def _safe(text: str, start: int, end: int) -> int:
    for place in range(end, max(start, end - _LOOK_BACK), -1):
        if not _joined(text[place - 1], text[place]):
            return place
    return end


def _joined(before: str, after: str) -> bool:
    # Variation selectors and emoji modifiers belong to the character before them.
    code = ord(after)
    return (
        before == _JOINER
        or after == _JOINER
        or unicodedata.combining(after) > 0
        or 0xFE00 <= code <= 0xFE0F
        or 0x1F3FB <= code <= 0x1F3FF
        or (0xD800 <= ord(before) <= 0xDBFF and 0xDC00 <= code <= 0xDFFF)
    )
