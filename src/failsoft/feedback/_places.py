"""Where the model's view would tell of the machines: paths, hosts, addresses, accounts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span
from failsoft.feedback._urls import is_address, is_internal_host, url_place_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["email_spans", "phone_spans", "place_spans"]

_ROOTS = frozenset(
    [
        "home",
        "users",
        "root",
        "etc",
        "var",
        "usr",
        "opt",
        "srv",
        "tmp",
        "mnt",
        "media",
        "proc",
        "sys",
        "dev",
        "run",
        "lib",
        "lib64",
        "bin",
        "sbin",
        "boot",
        "app",
        "apps",
        "data",
        "workspace",
        "workspaces",
        "work",
        "private",
        "library",
        "applications",
        "volumes",
        "nix",
        "snap",
        "code",
        "repo",
        "repos",
        "builds",
        "build",
        "src",
        "project",
        "projects",
        "storage",
        "dbfs",
        "vercel",
        "function",
        "layer",
        "github",
        "__w",
        "efs",
        "nfs",
        "export",
        "secrets",
        "config",
        "venv",
        ".venv",
        "site-packages",
    ]
)
_ROUTE_ROOT = re.compile(r"v\d+(?:beta\d*|alpha\d*)?$|api$|rest$|graphql$|rpc$")
_HOMES = frozenset(("home", "users", "root", "export"))
_METHOD_BEFORE = re.compile(
    r"(?:\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|route|endpoint|pointer)\s{1,2}[\"'`]?|\burl:? ?)$"
)
_NOT_BEFORE = frozenset(".:/\\])}%+*<>-_")
_QUOTES = "\"'`"
_POSIX = re.compile(r"/[^\s\"'`<>|:;,?*()\[\]{}\\]{1,1024}+")
_QUOTED_POSIX = re.compile(r"/[^\"'`<>|\n\r]{1,1024}+")
_WINDOWS = re.compile(
    r"[A-Za-z]:(?:[\\]{1,4}|/(?!/))(?:[^\s\\/:*?\"'`<>|;,()]{1,255}(?:[ ][^\s\\/:*?\"'`<>|;,]{1,64}){0,3}[\\/]{1,4})*+[^\s\\/:*?\"'`<>|;,()]{0,255}+"
)
_UNC = re.compile(r"\\{2,4}[A-Za-z0-9_.\-$]{1,255}(?:[\\]{1,2}[^\s\\/:*?\"'`<>|;,()]{1,255}+)+")
_END = ".:!?"

_IPV4 = re.compile(r"\d{1,3}+\.\d{1,3}+\.\d{1,3}+\.\d{1,3}+(?::\d{1,5}+)?")
_IPV6 = re.compile(
    r"(?<![\w.:\-])\[?(?=[0-9A-Fa-f]{0,4}:)([0-9A-Fa-f:]{2,39}(?:%\w{1,16})?)\]?(?::\d{1,5})?(?![\w:])"
)
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")
_NAME = re.compile(
    r"(?<![\w.\-@/\[])[A-Za-z0-9_](?:[A-Za-z0-9_\-]{0,62}+\.)+[A-Za-z][A-Za-z0-9\-]{1,30}+(?::\d{2,5})?(?![\w(])"
)
_PORT = re.compile(r":(\d{2,5})(?![\w.:\-])")
_LABEL_BEFORE = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{1,62}$")
_PORT_WORD_BEFORE = re.compile(
    r"\b(?:to|at|from|on|host|server|address|tcp|dial|lookup|connecting|resolve|with|via)\s\(?[\"']?$"
)
_SERVICE_PORTS = frozenset(
    [
        "5432",
        "5433",
        "6379",
        "6380",
        "3306",
        "27017",
        "8080",
        "8000",
        "8443",
        "9200",
        "9092",
        "5672",
        "11211",
        "2181",
        "1433",
        "1521",
        "8500",
        "8200",
        "4222",
        "50051",
        "3000",
        "5000",
        "9000",
        "9090",
        "4317",
        "4318",
        "2379",
        "6443",
        "5671",
        "15672",
        "26257",
        "6432",
        "7687",
        "9042",
        "1883",
        "25",
        "389",
        "636",
        "8888",
        "3128",
    ]
)
_NOT_HOSTS = frozenset(
    [
        "line",
        "column",
        "col",
        "row",
        "port",
        "code",
        "status",
        "error",
        "errno",
        "char",
        "position",
        "offset",
        "index",
        "page",
        "step",
        "item",
        "id",
        "attempt",
        "version",
        "size",
        "length",
        "count",
        "exit",
        "signal",
        "at",
        "http",
        "https",
    ]
)
_NAMED_HOST = re.compile(
    r"(?:server at|host ?name|host|server|broker|node|endpoint|nameserver)(?:[ ]?[=:][ ]?|[ ])(?:[\"'])([A-Za-z0-9_.\-]{1,253})[\"']"
    r"|(?:host|hostname|server|hostaddr)=([A-Za-z0-9_.\-]{1,253})",
    re.IGNORECASE,
)
_NAMED_USER = re.compile(
    r"(?:user ?name|user|role|login|account|principal|owner)(?:[ ]?[=:][ ]?|[ ]|[ ](?:is|was|name)[ ])"
    r"\\?[\"'`]([^\"'`\\\s]{1,128})\\?[\"'`](?:@[\"'`]([^\"'`\s]{1,255})[\"'`])?"
    r"|\b(?:user|username|uid|user[_ ]id)=([^\s\"'`&,;)\]}]{1,128})",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[A-Za-z0-9._%+\-]{1,64}$")
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9\-]{0,62}+\.)+[A-Za-z]{2,24}")
_PHONE = re.compile(r"(?<![\w.\-/])\+?\(?\d[\d ().\-]{6,18}\d(?![\w.\-/])")


def place_spans(text: str, lowered: str, keep: Keep) -> list[Span]:
    """Every place in `text` that is not the model's own."""
    spans: list[Span] = []
    if "://" in text:
        spans += url_place_spans(text, keep)
    if "/" in text:
        spans += _posix_spans(text, keep)
    if "\\" in text or ":/" in text:
        spans += _windows_spans(text, keep)
    if "." in text:
        spans += _ipv4_spans(text, keep)
        spans += _name_spans(text, keep)
    if ":" in text:
        spans += _port_spans(text, keep)
    if "::" in text or text.count(":") > 4:
        spans += _ipv6_spans(text, keep)
    if "host" in lowered or "server" in lowered or "broker" in lowered or "node" in lowered:
        spans += _named_host_spans(text, keep)
    if (
        "user" in lowered
        or "role" in lowered
        or "login" in lowered
        or "account" in lowered
        or "principal" in lowered
    ):
        spans += _user_spans(text, keep)
    return spans


def _posix_spans(text: str, keep: Keep) -> Iterator[Span]:
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


def _windows_spans(text: str, keep: Keep) -> Iterator[Span]:
    for pattern, mark in ((_WINDOWS, ":"), (_UNC, "\\\\")):
        at = text.find(mark)
        while at >= 0:
            start = at - 1 if mark == ":" else at
            found = pattern.match(text, start) if start >= 0 else None
            end = at + 1
            if found and (start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "\\_")):
                path = found[0].rstrip(_END)
                end = max(end, start + len(path))
                if not keep.has(path) and not keep.has(path.replace("\\\\", "\\")):
                    yield Span(start, start + len(path), "path", _base(path))
            at = text.find(mark, end)


def _ipv4_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _IPV4.finditer(text):
        start, end = found.span()
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        address = found[0].partition(":")[0]
        if before.isalnum() or before in "._-" or after.isalnum() or after in "_-":
            continue
        if after == "." and text[end + 1 : end + 2].isdigit():
            continue
        if re.search(r"version[ =:]{1,2}$", text[max(0, start - 10) : start], re.IGNORECASE):
            continue
        if is_address(address) and not keep.has(address):
            yield Span(start, end, "address")


def _ipv6_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _IPV6.finditer(text):
        address = found[1]
        is_one = _MAC.fullmatch(address) or (any(map(str.isdigit, address)) and is_address(address))
        if is_one and not keep.has(address):
            yield Span(found.start(), found.end(), "address")


def _name_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _NAME.finditer(text):
        host = found[0].partition(":")[0]
        if is_internal_host(host) and not keep.has(host):
            yield Span(found.start(), found.end(), "host")


def _port_spans(text: str, keep: Keep) -> Iterator[Span]:
    """`redis:6379`: one label and a port, where the port or the words before it say so."""
    for found in _PORT.finditer(text):
        label = _LABEL_BEFORE.search(text, max(0, found.start() - 63), found.start())
        if label is None or label[0].lower() in _NOT_HOSTS or keep.has(label[0]):
            continue
        before = text[label.start() - 1] if label.start() else " "
        if (before.isalnum() or before in "._-:/@") and before != "@":
            continue
        known = found[1] in _SERVICE_PORTS or label[0].lower() == "localhost"
        if (
            known
            or before == "@"
            or _PORT_WORD_BEFORE.search(text, max(0, label.start() - 16), label.start())
        ):
            yield Span(label.start(), found.end(), "host")


def _named_host_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _NAMED_HOST.finditer(text):
        group = 1 if found[1] is not None else 2
        host = found[group]
        if keep.has(host):
            continue
        is_connection = found[0].lower().startswith(("server at", "host name", "hostname"))
        if is_address(host):
            yield Span(found.start(group), found.end(group), "address")
        elif is_connection or is_internal_host(host):
            yield Span(found.start(group), found.end(group), "host")


def _user_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _NAMED_USER.finditer(text):
        for group, label in ((1, "user"), (2, "host"), (3, "user")):
            value = found[group]
            if value and not value.isdigit() and not value.startswith("[") and not keep.has(value):
                yield Span(found.start(group), found.end(group), label)


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
