"""Where a text tells of the machines and accounts behind a tool: addresses, internal host names, user names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span, words
from failsoft.feedback._urls import is_address, is_internal_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["address_spans", "host_spans", "user_spans"]

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
_SERVICE_PORTS = words(
    "5432 5433 6379 6380 3306 27017 8080 8000 8443 9200 9092 5672 11211 2181 1433 1521 8500 8200 4222 "
    "50051 3000 5000 9000 9090 4317 4318 2379 6443 5671 15672 26257 6432 7687 9042 1883 25 389 636 8888 "
    "3128"
)
_NOT_HOSTS = words(
    "line column col row port code status error errno char position offset index page step item id "
    "attempt version size length count exit signal at http https"
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


def address_spans(text: str, keep: Keep) -> Iterator[Span]:
    """IP addresses of both versions, with their ports; hardware addresses."""
    if "." in text:
        yield from _ipv4_spans(text, keep)
    if "::" in text or text.count(":") > 4:
        yield from _ipv6_spans(text, keep)


def host_spans(text: str, keep: Keep, *, named: bool) -> Iterator[Span]:
    """Internal host names: by their ending, by a port behind one label, and where `named`, behind a word like `host`."""
    if "." in text:
        yield from _name_spans(text, keep)
    if ":" in text:
        yield from _port_spans(text, keep)
    if named:
        yield from _named_host_spans(text, keep)


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


def user_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _NAMED_USER.finditer(text):
        for group, label in ((1, "user"), (2, "host"), (3, "user")):
            value = found[group]
            if value and not value.isdigit() and not value.startswith("[") and not keep.has(value):
                yield Span(found.start(group), found.end(group), label)
