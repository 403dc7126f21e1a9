"""Every place that the model's view must not tell of: URLs, paths, addresses, hosts, accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.feedback._hosts import address_spans, host_spans, user_spans
from failsoft.feedback._paths import posix_spans, windows_spans
from failsoft.feedback._urls import url_place_spans

if TYPE_CHECKING:
    from failsoft.feedback._names import Keep, Span

__all__ = ["place_spans"]


def place_spans(text: str, lowered: str, keep: Keep) -> list[Span]:
    """Every place in `text` that the model did not send; each search runs only where its mark is in the text."""
    spans: list[Span] = []
    if "://" in text:
        spans += url_place_spans(text, keep)
    if "/" in text:
        spans += posix_spans(text, keep)
        spans += windows_spans(text, keep, ":/")
    if "\\" in text:
        spans += windows_spans(text, keep, ":\\")
        spans += windows_spans(text, keep, "\\\\")
    if "." in text or ":" in text:
        spans += address_spans(text, keep)
    spans += host_spans(text, lowered, keep)
    spans += user_spans(text, lowered, keep)
    return spans
