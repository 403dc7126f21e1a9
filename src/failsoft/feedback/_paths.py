"""Absolute paths in a text: POSIX, Windows, UNC. The base name stays, because the model may need it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["posix_spans", "windows_spans"]

_ROOTS = words(
    "home users root etc var usr opt srv tmp mnt media proc sys dev run lib lib64 bin sbin boot app "
    "apps data workspace workspaces work private library applications volumes nix snap code repo repos "
    "builds build src project projects storage dbfs vercel function layer github __w efs nfs export "
    "secrets config venv .venv site-packages"
)
_ROUTE_ROOT = re.compile(r"v\d+(?:beta\d*|alpha\d*)?$|api$|rest$|graphql$|rpc$")
_HOMES = frozenset(("home", "users", "root", "export"))
_METHOD_BEFORE = re.compile(
    r"(?:\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|route|endpoint|pointer)\s{1,2}[\"'`]?|\burl:? ?)\Z"
)
_NOT_BEFORE = frozenset("./\\])}%+*<>-_")
_QUOTES = "\"'`"
_POSIX = re.compile(r"/[^\s\"'`<>|:;,?*()\[\]{}\\]{1,1024}+")
_QUOTED_POSIX = re.compile(r"/[^\"'`<>|\n\r]{1,1024}+")
_WINDOWS = re.compile(
    r"[A-Za-z]:(?:[\\]{1,4}|/(?!/))(?:[^\s\\/:*?\"'`<>|;,()]{1,255}(?:[ ][^\s\\/:*?\"'`<>|;,]{1,64}){0,3}[\\/]{1,4})*+[^\s\\/:*?\"'`<>|;,()]{0,255}+"
)
_UNC = re.compile(r"\\{2,4}[A-Za-z0-9_.\-$]{1,255}(?:[\\]{1,2}[^\s\\/:*?\"'`<>|;,()]{1,255}+)+")
_END = ".:!?"


def posix_spans(text: str, keep: Keep) -> Iterator[Span]:
    """Paths from the root or from a home."""
    at = text.find("/")
    while at >= 0:
        before = text[at - 1] if at else " "
        start = at - 1 if before == "~" else at
        quoted = before in _QUOTES and at > 0
        found = (_QUOTED_POSIX if quoted else _POSIX).match(text, at)
        if found and before not in _NOT_BEFORE and not (before.isalnum()) and text[at + 1] != "/":
            path = found[0].rstrip(_END)
            if _is_file_path(text, start, path) and not keep.has(path):
                yield Span(start, at + len(path), "path", _base(path))
            at = text.find("/", at + len(path))
            continue
        # The rest of a run that began inside of a word is no path either.
        run = _POSIX.match(text, at)
        at = text.find("/", run.end() if run and run.end() > at else at + 1)


def _is_file_path(text: str, start: int, path: str) -> bool:
    parts = [part for part in path.split("/") if part]
    if not parts:
        return False
    if text[start] == "~" or parts[0].lower() in _ROOTS:
        return True
    if len(parts) < 2 or _ROUTE_ROOT.match(parts[0].lower()) or any(part.isdigit() for part in parts):
        return False
    return not _METHOD_BEFORE.search(text, max(0, start - 16), start)


def _base(path: str) -> str:
    """The name that may stay: the last one, but not where that is a person's."""
    parts = [part for part in re.split(r"[\\/]+", path) if part]
    if len(parts) < 2 or (len(parts) <= 3 and parts[-2].lower() in _HOMES):
        return "" if not parts or len(parts) > 1 or parts[0].lower() == "root" else parts[0]
    return parts[-1]


def windows_spans(text: str, keep: Keep, mark: str) -> Iterator[Span]:
    """Paths with a drive letter (marks `:\\` and `:/`) or of a share (mark `\\\\`)."""
    pattern, back = (_WINDOWS, 1) if mark[0] == ":" else (_UNC, 0)
    at = text.find(mark)
    while at >= 0:
        start = at - back
        end = at + 1
        found = pattern.match(text, start) if start >= 0 else None
        if found and (
            start == 0
            or not (text[start - 1].isalnum() or text[start - 1] in "\\_")
            or text.endswith("\\\\?\\", 0, start)
        ):
            path = found[0].rstrip(_END)
            end = max(end, start + len(path))
            if not keep.has(path) and not keep.has(path.replace("\\\\", "\\")):
                yield Span(start, start + len(path), "path", _base(path))
        at = text.find(mark, end)
