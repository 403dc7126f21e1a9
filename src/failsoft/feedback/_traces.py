"""What only the operator can use: tracebacks, places in source code, object reprs, class names, docs links, HTML pages."""

from __future__ import annotations

import re

__all__ = ["plain"]

_TRACE = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):")
_FRAME = re.compile(r"\s*File \\?\"[^\"\n]{0,1024}+\", line \d{1,9}(?:, in [^\n]{0,256})?")
_JOINING = ("During handling of the above", "The above exception was the direct")
_TYPE = re.compile(
    r"(?:[A-Za-z_]\w{0,60}+\.){0,8}+(?:_{0,2}[A-Z]\w{0,60}(?:Error|Exception|Warning|Exit|Interrupt|Group|Timeout|Refused|Fault|Failure)"
    r"|[a-z_]\w{0,60}(?:\.\w{1,60}){1,8}+)(?:: |\(|$)"
)
_LOWER_MODULE = re.compile(r"[a-z_]\w{0,60}(?:\.\w{1,60}){1,8}+: ")
_REPR = re.compile(r"<([A-Za-z_][\w.]{0,120}+)(?: object)? at 0x[0-9a-fA-F]{4,16}(?: [^<>\n]{0,200}+)?>")
_SOURCE = re.compile(
    r"\s?\(?\b_?[\w\-]{1,80}\.(?:pyx|py|cpp|cc|c|rs|go|java|kt|tsx|ts|jsx|js|rb|php|cs):\d{1,7}(?::\d{1,5})?\)?"
)
_FOREIGN_FRAME = re.compile(r"\n\s{1,16}at [^\n]{1,1024}+")
_DOCS = re.compile(
    r"(?:\s*\(?(?:For (?:further|more) information,? (?:visit|see|check)|See(?: also)?|Read more(?: at)?|Documentation:?|Docs:?"
    r"|Visit|Learn more(?: at)?|More (?:info|information|details):?)(?: here)?:? ?)?"
    r"https?://(?:docs?\.|errors\.pydantic\.dev|[\w.\-]{1,200}/(?:[\w.\-/]{0,200}/)?(?:docs?|documentation|help|errors?-codes?|sqlalche)(?:[/?#.]|\b))"
    r"[^\s\"'<>)]{0,1024}+\)?\.?",
    re.IGNORECASE,
)
_BACKGROUND = re.compile(r"\(Background on this error at: [^\s)]{1,300}\)", re.IGNORECASE)
_POOL = re.compile(
    r"(?:HTTPS?ConnectionPool|HTTPS?Connection)\(host=(['\"])([^'\"]{0,253})\1, port=[^)]{1,12}\):?\s?"
)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,300}+)", re.IGNORECASE)
_TAG = re.compile(r"<[!/?a-zA-Z][^<>]{0,2000}+>")
_SCRIPT = re.compile(r"<(script|style)\b", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without what the model cannot act on."""
    if "Traceback (most" in text:
        text = _last_lines(text)
    if ", line " in text and "File " in text:
        text = _FRAME.sub("", text)
    if "\n" in text and " at " in text:
        text = _FOREIGN_FRAME.sub("", text)
    if "<" in text:
        text = _without_markup(text)
    if "://" in text:
        if "Background on" in text:
            text = _BACKGROUND.sub("", text)
        text = _DOCS.sub("", text)
    if "ConnectionPool(" in text or "Connection(" in text:
        text = _POOL.sub(r"\2: ", text)
    if ":" in text and "." in text:
        text = _SOURCE.sub("", text)
    return _without_type(text)


def _last_lines(text: str) -> str:
    """A traceback is replaced by what it ends with: the line that names the exception."""
    kept: list[str] = []
    inside = False
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n")
    for raw in text.split("\n"):
        line = raw.lstrip(" |+-")
        found = _TRACE.search(line)
        if found:
            before = line[: found.start()].rstrip()
            if before:
                kept.append(before)
            inside = True
        elif line.startswith(_JOINING):
            # Of a chain only the last exception is told.
            if kept:
                kept.pop()
            inside = True
        elif inside and (raw[:1] in " \t|+" or not line):
            continue
        else:
            kept.append(_without_type(line) if inside else raw)
            inside = False
    return "\n".join(kept).strip("\n")


def _without_type(text: str) -> str:
    """`requests.exceptions.ConnectionError: refused` is told as `refused`."""
    while found := _TYPE.match(text):
        if found[0].endswith(": ") or (found[0].endswith(":")):
            text = text[found.end() :].lstrip()
        else:
            break
    return text


def _without_markup(text: str) -> str:
    if " at 0x" in text:
        text = _REPR.sub("[object]", text)
    lowered = text[:2000].lower()
    if "<html" not in lowered and "<!doctype html" not in lowered and "<head" not in lowered:
        return text
    title = _TITLE.search(text)
    start = text.find("<")
    said = title[1].strip() if title else "an HTML page"
    return f"{text[:start].rstrip()} {said}".strip()
