"""Where secrets stand in a text: marked keys, PEM blocks, authorization schemes, named values, `name:password@host`.

Every search starts from a literal and every run is possessive or bounded, so the time is linear in the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._named import named_spans
from failsoft.feedback._names import Span
from failsoft.feedback._providers import provider_spans
from failsoft.feedback._secret_words import looks_random

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["secret_spans"]

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|MESSAGE|SSH2 ENCRYPTED)[A-Z0-9 ]{0,20}-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,60}-----")
# Behind "Authorization:" every scheme is hidden; these two are also quoted alone.
_SCHEMES = ("bearer ", "basic ")
_SCHEME_VALUE = re.compile(r"""[ ]{0,3}["']?([A-Za-z0-9+/=_.\-~]{6,}+)""")
_ACCOUNT = re.compile(r"([A-Za-z0-9_.+\-]{1,64}):(?!//)([^\s:@\"'<>]{1,128})")
_BOUNDARY = re.compile(r"[\s\"'<>(,=/]")


def secret_spans(text: str, lowered: str) -> list[Span]:
    """Every secret in `text`; `lowered` is the text in lower case, of the same length."""
    spans = list(provider_spans(text))
    if "-----BEGIN" in text:
        spans += _pem_spans(text)
    for scheme in _SCHEMES:
        if scheme in lowered:
            spans += _scheme_spans(text, lowered, scheme)
    spans += named_spans(text, lowered)
    if "@" in text:
        spans += _account_spans(text)
    return spans


def _pem_spans(text: str) -> Iterator[Span]:
    at = 0
    while found := _PEM.search(text, at):
        end = _PEM_END.search(text, found.end())
        at = end.end() if end else len(text)
        yield Span(found.start(), at, "secret")


def _scheme_spans(text: str, lowered: str, scheme: str) -> Iterator[Span]:
    at = lowered.find(scheme)
    while at >= 0:
        after = at + len(scheme)
        found = _SCHEME_VALUE.match(text, after)
        if found and (looks_random(found[1]) or "=" in found[1]):
            yield Span(found.start(1), found.end(1), "secret")
            after = found.end()
        at = lowered.find(scheme, after)


def _account_spans(text: str) -> Iterator[Span]:
    """`name:password@host` without a scheme before it."""
    at = text.find("@")
    while at > 0:
        follows = text[at + 1 : at + 2]
        if follows.isalnum() or follows == "[":
            word = _BOUNDARY.split(text[max(0, at - 200) : at])[-1]
            found = _ACCOUNT.fullmatch(word)
            if found and found[1].lower() != "mailto":
                yield Span(at - len(found[2]), at, "secret")
        at = text.find("@", at + 1)
