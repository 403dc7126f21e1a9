"""Placeholders: what stands in the text where something was hidden.

One thing gets one placeholder within one text or error, so that two mentions read as one thing;
a second thing of the same sort is numbered: `[secret]`, `[secret 2]`, `[path:report.csv]`, `[path 2:report.csv]`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Keep", "Names", "Span", "apply_spans", "outside_placeholders", "words"]

_PATH_PLACEHOLDER = re.compile(r"\[path(?: [0-9]{1,6})?(?::[^\[\]\n]{1,80})?\]")
_MAX_KEPT_CHARS = 20_000
_MAX_SHOWN_CHARS = 80


def words(text: str) -> frozenset[str]:
    """The words of a text, for tables that read better without a quote around each word."""
    return frozenset(text.split())


class Span(NamedTuple):
    """A part of a text that is to be hidden.

    A named tuple and not a dataclass: thousands are made for one hostile text, and they are sorted.
    """

    start: int
    end: int
    label: str
    shown: str = ""


class Names:
    """Hands out placeholders; keep one for everything that should agree."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], dict[str, int]] = {}

    def of(self, label: str, value: str, shown: str = "") -> str:
        """The placeholder of `value`; `shown` is the part of it that may be read, such as a base name."""
        seen = self._numbers.setdefault((label, shown), {})
        number = seen.setdefault(value, len(seen) + 1)
        head = label if number == 1 else f"{label} {number}"
        return f"[{head}:{shown[:_MAX_SHOWN_CHARS]}]" if shown else f"[{head}]"


class Keep:
    """What the model itself sent, and may therefore read again.

    Args:
        values: Texts that the model sent, whole.
    """

    __slots__ = ("_joined", "_values")

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = frozenset(value for value in values if value)
        self._joined = "\0".join(sorted(self._values, key=len))[:_MAX_KEPT_CHARS]

    def has(self, value: str) -> bool:
        """Whether the model sent `value`, alone or, from four characters on, inside a longer text."""
        if not self._values:
            return False
        return value in self._values or (len(value) > 3 and value in self._joined)

    def __bool__(self) -> bool:
        return bool(self._values)


def apply_spans(text: str, spans: list[Span], names: Names) -> str:
    """The text with its spans replaced; spans that overlap are hidden as one, under the first one's label."""
    spans.sort(key=lambda span: (span.start, -span.end))
    pieces: list[str] = []
    done = 0
    current: Span | None = None
    for span in spans:
        if current is not None and span.start < current.end:
            if span.end > current.end:
                current = current._replace(end=span.end)
            continue
        if current is not None:
            pieces += text[done : current.start], _placeholder(text, current, names)
            done = current.end
        current = span
    if current is None:
        return text
    pieces += text[done : current.start], _placeholder(text, current, names), text[current.end :]
    return "".join(pieces)


def outside_placeholders(text: str, spans: list[Span]) -> list[Span]:
    """The spans that do not touch what an earlier cleaning left: a base name may look like a host or an address."""
    done = [found.span() for found in _PATH_PLACEHOLDER.finditer(text)]
    starts = [start for start, _ in done]

    def is_free(span: Span) -> bool:
        before = bisect_left(starts, span.end) - 1
        return before < 0 or done[before][1] <= span.start

    return [span for span in spans if is_free(span)]


def _placeholder(text: str, span: Span, names: Names) -> str:
    if not span.label:
        return span.shown
    return names.of(span.label, text[span.start : span.end], span.shown)
