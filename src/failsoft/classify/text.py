"""From an exception's text to one bounded line that a reader of the conversation can use.

What goes: tracebacks, HTML, SQL, links to documentation, class names, object representations, ray and request ids.
What stays: names of tables and files, the certificate problem, a provider's own words.
Secrets, hosts and paths are not looked at: redaction is made once, later, by another room.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["MAX_CHARS", "one_line", "text_of"]

MAX_CHARS: Final = 240
# Patterns are only ever run over this much; the end is kept because a traceback ends with what matters.
_READ_CHARS: Final = 6_000
_TAIL_CHARS: Final = 1_000

_HTML = re.compile(r"<!doctype\s|<html\b|<head\b|<body\b|<\?xml\b|</(?:p|h1|div|title|center|error)>", re.I)
_CUT = re.compile(
    r"\n?\[SQL: |\n\[parameters: |\nLINE \d+: |\s*\(Background on this error| \(Caused by "
    r"|\n\s*CONTEXT:|\nHTTP response (?:headers|body)|\nServer stacktrace:|\nCall log:|\nDebug info",
)
_DOCS = re.compile(
    r"(?:(?:[Ff]or (?:more|further) (?:information|details|info)|[Ss]ee also|[Ss]ee|[Vv]isit|[Cc]heck|[Rr]ead|[Rr]efer to"
    r"|[Hh]ead to|[Mm]ore (?:info|information|details)|[Ll]earn more|[Dd]ocs?|[Dd]ocumentation)\b[^\n.:;]{0,80}[:\s]\s*)?"
    r"https?://[^\s'\"<>]*(?:docs?[./]|/docs|developer\.|errors?\.|sqlalche\.me|help\.|/help|support\.|/error-codes|"
    r"status\.|platform\.|/guides?/|billing|/rest/|learn\.)[^\s'\"<>]*"
    r"(?:\s+for (?:more |further )?(?:details|information|info|help)\b)?"
)
_PREFIX = re.compile(
    r"(?:(?:[A-Za-z_][\w]*\.)*[A-Z][A-Za-z0-9_]*(?:Error|Exception|Timeout|Exit|Interrupt|Disconnected|Closed)(?::|\s+-)\s*"
    r"|[A-Z][A-Za-z]+\.[a-z][A-Za-z]+:\s+|Protocol error \([\w.]+\):\s*|\[(?:Errno|WinError) -?\d+\]\s*|\((?:[A-Za-z_]\w*\.)*[A-Z]\w*\)\s*"
    r"|HTTPS?ConnectionPool\([^)]*\):\s*|Error code:\s*\d{3}\s*-?\s*)"
)
_NOISE = re.compile(
    r"<[^<>\n]{0,200}\bat 0x[0-9a-fA-F]+[^<>\n]{0,200}>|\(_ssl\.c:\d+\)"
    r"|\b(?:cf-)?ray(?:[ _-]?id)?\b\W{0,3}[0-9a-f]{12,}(?:-[A-Z]{3})?"
    r"|[\[(,]?\s*\b(?:x-)?request[ _-]?id\b\W{1,4}[\w-]{6,}[\])]?"
    r"|\bunhandled errors in a TaskGroup\b|\(\d+ sub-exceptions?\)|\s*\(char \d+\)",
    re.I,
)
_SQL_NEAR = re.compile(r"; check the manual that corresponds.*", re.S)
# What any of the patterns above needs to match; most texts have none of it and are done at once.
_SUSPECT = re.compile(r"[<\n\t\r\[(]|: |://| - |  |\bray\b|request.?id|TaskGroup", re.I)
_SPACE = re.compile(r"\s+")


def text_of(exc: BaseException) -> str:
    """`str(exc)`, its middle left out where it is very long; nothing where an exception cannot be written."""
    try:
        text = str(exc)
    except Exception:
        return ""
    if len(text) > _READ_CHARS:
        text = f"{text[: _READ_CHARS - _TAIL_CHARS]}\n{text[-_TAIL_CHARS:]}"
    return text


def _after_traceback(text: str) -> str:
    lines = [line for line in text.splitlines() if line and not line[0].isspace()]
    lines = [
        line for line in lines if not line.startswith(("Traceback (most", "During handling", "The above exc"))
    ]
    return lines[-1] if lines else ""


def one_line(text: str, limit: int = MAX_CHARS) -> str:
    """One line of at most `limit` characters; empty where nothing fit to be shown is left."""
    if not text:
        return ""
    text = text[: _READ_CHARS + 1].strip()
    if len(text) <= limit and not _SUSPECT.search(text):
        return text.strip(" ,;:-")
    if "Traceback (most recent call last)" in text:
        text = _after_traceback(text)
    if _HTML.search(text):
        return ""
    found = _CUT.search(text)
    if found:
        text = text[: found.start()]
    text = _NOISE.sub("", _DOCS.sub("", _SQL_NEAR.sub("", text)))
    while (found := _PREFIX.match(text)) and found.end() < len(text):
        text = text[found.end() :]
    text = _SPACE.sub(" ", text).strip(" \t\n,;:-")
    if len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return text
