"""What only the operator can use: tracebacks, places in source code, object reprs, class names, docs links, HTML pages."""

from __future__ import annotations

import re

__all__ = ["plain"]

_TRACE = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):")
_FRAME = re.compile(r"File \\?\"[^\"\n]{0,1024}+\", line [0-9]{1,9}(?:, in [^\n]{0,256})?")
_JOINING = ("During handling of the above", "The above exception was the direct")
_TYPE = re.compile(
    r"(?:[A-Za-z_]\w{0,60}+\.){0,8}+(?:_{0,2}[A-Z]\w{0,60}(?:Error|Exception|Warning|Exit|Interrupt|Timeout|Refused|Fault)"
    r"|[a-z_]\w{0,60}(?:\.\w{1,60}){1,8}+): "
)
_REPR = re.compile(r"<([A-Za-z_][\w.]{0,120}+)(?: object)? at 0x[0-9a-fA-F]{4,16}(?: [^<>\n]{0,200}+)?>")
_SOURCE = re.compile(
    r"\.(?:pyx|py|cpp|cc|c|rs|go|java|kt|tsx|ts|jsx|js|rb|php|cs):[0-9]{1,7}(?::[0-9]{1,5})?\)?"
)
_SOURCE_BEFORE = re.compile(r"\s?\(?[\w\-]{1,80}\Z")
_FOREIGN_FRAME = re.compile(r"\n\s{1,16}at [^\n]{1,1024}+")
_LINK = re.compile(r"://[^\s\"'<>)]{1,2000}+\)?")
_LINK_BEFORE = re.compile(
    r"\s?\(?(?:(?:Background on this error at|For (?:further|more) information,? (?:visit|see|check)|See(?: also)?"
    r"|Read more(?: at)?|Documentation|Docs|Visit|Check|Learn more(?: at)?|More (?:info|information|details))"
    r"(?: here)?:? ?)?https?\Z",
    re.IGNORECASE,
)
_IS_DOCS = re.compile(
    r"://(?:(?:docs?|help|developers?|support|learn)\.|errors\.pydantic\.dev|sqlalche\.me"
    r"|[^/\s]{1,200}/(?:[\w.\-/]{1,100}/)?(?:docs?|documentation|help|error-?codes?)(?:[/?#.)]|$))",
    re.IGNORECASE,
)
_POOL = re.compile(
    r"HTTP(?:S?ConnectionPool|S?Connection)\(host=(['\"])([^'\"]{0,253})\1, port=[^)]{1,12}\):?\s?"
)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,300}+)", re.IGNORECASE)


def plain(text: str) -> str:
    """The text without what the model cannot act on."""
    # A search for one character is almost free, one for a word is not: most texts stop at the first half of each test.
    has_lines = "\n" in text or "\\n" in text
    if has_lines and "Traceback (most" in text:
        text = _last_lines(text)
    if '"' in text and '", line ' in text:
        text = _FRAME.sub("", text)
    if has_lines and " at " in text:
        text = _FOREIGN_FRAME.sub("", text)
    if "<" in text:
        text = _without_markup(text)
    if "://" in text:
        text = _without(text, _LINK, _LINK_BEFORE, _IS_DOCS)
    if "=" in text and "(host=" in text:
        text = _POOL.sub(r"\2: ", text)
    if ":" in text and "." in text:
        text = _without(text, _SOURCE, _SOURCE_BEFORE)
    return _without_type(text)


def _without(
    text: str, mark: re.Pattern[str], before: re.Pattern[str], only: re.Pattern[str] | None = None
) -> str:
    """The text without each `mark` and what leads up to it; found by the mark, because that begins with a literal."""
    pieces: list[str] = []
    done = 0
    for found in mark.finditer(text):
        if only is not None and not only.match(found[0]):
            continue
        start = before.search(text, max(done, found.start() - 90), found.start())
        if start:
            end = found.end()
            if found[0].endswith(")") and "(" not in start[0]:
                end -= 1
            pieces.append(text[done : start.start()])
            done = end
    return "".join((*pieces, text[done:])) if done else text


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
    while (found := _TYPE.match(text)) and found.end() < len(text):
        text = text[found.end() :].lstrip()
        if found[0] == "KeyError: ":
            # Its text is the key alone, which says nothing without the class.
            return f"missing key {text}"
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
