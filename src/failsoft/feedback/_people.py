"""Mail addresses and telephone numbers, hidden on request only: a model often works with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["email_spans", "phone_spans"]

_EMAIL = re.compile(r"[A-Za-z0-9._%+\-]{1,64}\Z")
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62}+\.)+[A-Za-z]{2,24}")
_PHONE = re.compile(r"(?<![\w.\-/])\+?\(?\d[\d ().\-]{6,18}\d(?![\w.\-/])")


def email_spans(text: str, keep: Keep) -> Iterator[Span]:
    """Mail addresses, on request."""
    at = text.find("@")
    while at >= 0:
        name = _EMAIL.search(text, max(0, at - 64), at)
        domain = _DOMAIN.match(text, at + 1)
        if name and domain and name[0] and not keep.has(text[name.start() : domain.end()]):
            yield Span(name.start(), domain.end(), "email")
        at = text.find("@", at + 1)


def phone_spans(text: str, keep: Keep) -> Iterator[Span]:
    """Telephone numbers, on request: an international prefix, or groups of digits, 8 to 15 digits in all."""
    for found in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, found[0]))
        is_one = 8 <= digits <= 15 and (found[0][0] == "+" or any(char in " ()-" for char in found[0]))
        if is_one and not keep.has(found[0]):
            yield Span(found.start(), found.end(), "phone")
