"""Classifies what a person pastes: an HTTP response, an error body, a traceback, or an exception's text."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

from .body import parse_body
from .classifier import Classifier
from .http import Answer, judge

if TYPE_CHECKING:
    from datetime import datetime

    from failsoft.core.errors import AgentError

__all__ = ["classify_text"]

_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)?\s+(\d{3})\b[^\n]*\n?")
_HEADER = re.compile(r"([\w-]+):[ \t]*(.*)")
_LAST_LINE = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*[a-z]\w*)(?::\s*(.*))?", re.S)
_START = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*[a-z]\w*(?:: |$)", re.M)


def classify_text(
    text: str, *, classifier: Classifier | None = None, method: str | None = None, now: datetime | None = None
) -> AgentError | None:
    """The error that a pasted text is about; None for a good response.

    Args:
        text: A raw HTTP response with its status line, a JSON body, a traceback, or `package.Class: words`.
        classifier: Whose rules to use; default the shared table.
        method: Of the request, where it is known.
        now: The present moment, for hints that are moments.
    """
    classifier = classifier or Classifier()
    text = text.strip().replace("\r\n", "\n")
    found = _STATUS_LINE.match(text)
    if found:
        head, _, body = text[found.end() :].partition("\n\n")
        headers = _HEADER.findall(head)
        return classifier.classify_response(int(found.group(1)), headers, body, method=method, now=now)
    body = parse_body(text)
    if isinstance(body, dict | list):
        judged = judge(Answer(body=body, method=method.upper() if method else None), now, raised=True)
        if judged is not None:
            return judged.error()
    return classifier.classify(_exception(text), method=method, now=now)


def _exception(text: str) -> Exception:
    """An exception of the named type; the type is made for the purpose, so that no library is imported."""
    if "Traceback (most recent call last)" in text:
        starts = [
            found.start()
            for found in _START.finditer(text)
            if not text[found.start() :].startswith("Traceback")
        ]
        text = text[starts[-1] :] if starts else text
    found = _LAST_LINE.fullmatch(text)
    if found is None or not (found.group(2) or "." in found.group(1) or hasattr(builtins, found.group(1))):
        return RuntimeError(text)
    name, words = found.group(1), found.group(2) or ""
    known = getattr(builtins, name, None)
    if (
        isinstance(known, type)
        and issubclass(known, Exception)
        and not issubclass(known, BaseExceptionGroup | UnicodeError)
    ):
        return known(words)
    module, _, cls = name.rpartition(".")
    made: type[Exception] = type(cls, (Exception,), {"__module__": module or "__main__"})
    return made(words)
