"""Where a text tells of the machines and accounts behind a tool: addresses, internal host names, user names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span, words
from failsoft.feedback._urls import INTERNAL_ENDS, is_address, is_internal_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["address_spans", "host_spans", "user_spans"]

_IPV4 = re.compile(r"\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9])(?::[0-9]{1,5}+)?")
_OCTET_BEFORE = re.compile(r"(?<![\w.])(?<![A-Za-z_]-)[0-9]{1,3}\Z")
_VERSION_BEFORE = re.compile(r"version[ =:]{1,2}\Z", re.IGNORECASE)
_IPV6 = re.compile(r":[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,37}(?:%\w{1,16})?")
_IPV6_BEFORE = re.compile(r"(?<![\w.:\-])\[?([0-9A-Fa-f:]{0,39})\Z")
_IPV6_AFTER = re.compile(r"(?:\](?::[0-9]{1,5})?)?(?![\w:])")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")
_INTERNAL = re.compile(
    rf"\.(?:{'|'.join(INTERNAL_ENDS)})(?![\w(\-])(?:\.[a-z0-9\-]{{1,63}}){{0,4}}+(?::[0-9]{{2,5}})?"
)
_NAME_BEFORE = re.compile(
    r"(?<![\w.\-@/\[])[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}\Z|(?<=@)[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}\Z"
)
_PORT = re.compile(r":(\d{2,5})(?![\w.:\-])")
_LABEL_BEFORE = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{1,62}\Z")
_PORT_WORD_BEFORE = re.compile(
    r"\b(?:to|at|from|on|host|server|address|tcp|dial|lookup|connecting|resolve|with|via)\s\(?[\"']?\Z"
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
_HOST_MARKS = ("host", "server")
_NAMED_HOST = re.compile(
    r"(?:server at|host ?name|hostaddr|host|server)"
    r"(?:(?:[ ]?[=:][ ]?|[ ])[\"'](?P<quoted>[A-Za-z0-9_.\-\\]{1,253})[\"']|=(?P<bare>[A-Za-z0-9_.\-]{1,253})"
    r"|:[ ](?P<odd>[A-Za-z]{1,40}[0-9][A-Za-z0-9_\-]{0,64})(?![\w.]))",
    re.IGNORECASE,
)
_RESOLVED = re.compile(
    r"(?:ENOTFOUND|EAI_AGAIN)[ ]([A-Za-z0-9][A-Za-z0-9_.\-]{0,252}+)"
    r"|(?:hostname|lookup)[ ]([A-Za-z0-9][A-Za-z0-9_.\-]{0,252}+)(?=:| on )",
    re.IGNORECASE,
)
_USER_MARKS = ("user", "role", "account")
_NAMED_USER = re.compile(
    r"(?:user ?name|user[_ ]id|user|role|account)"
    r"(?:(?:[ ]?[=:][ ]?|[ ]|[ ](?:is|was|name)[ ])"
    r"\\?[\"'`](?P<quoted>[^\"'`\\\s]{1,128})\\?[\"'`](?:@[\"'`](?P<at>[^\"'`\s]{1,255})[\"'`])?"
    r"|=(?P<bare>[^\s\"'`&,;)\]}]{1,128})"
    # Without quotes only what cannot be an ordinary word: a part of an address, or a name with `_` or a digit.
    r"|[ ](?P<mail>[A-Za-z0-9_.\-]{1,64})(?=@)"
    r"|:[ ](?P<odd>[A-Za-z]{1,40}[_0-9][A-Za-z0-9_\-.]{0,64}))",
    re.IGNORECASE,
)


_PUBLIC_AFTER = re.compile(
    rf"@(?:[A-Za-z0-9\-]{{1,63}}\.){{1,6}}(?!(?:{'|'.join(INTERNAL_ENDS)})(?![\w.\-]))[A-Za-z]{{2,24}}(?![\w\-])",
    re.IGNORECASE,
)


def address_spans(text: str, keep: Keep) -> Iterator[Span]:
    """IP addresses of both versions, with their ports; hardware addresses."""
    if "." in text:
        yield from _ipv4_spans(text, keep)
    if "::" in text or text.count(":") > 4:
        yield from _ipv6_spans(text, keep)


def host_spans(text: str, lowered: str, keep: Keep) -> Iterator[Span]:
    """Internal host names: by their ending, by a port behind one label, or behind a word like `host`."""
    if "." in text:
        yield from _name_spans(text, lowered, keep)
    if ":" in text:
        yield from _port_spans(text, keep)
    for found in _after_marks(text, lowered, _HOST_MARKS, _NAMED_HOST) if _has_sign(text) else ():
        group = found.lastgroup or "bare"
        host = found[group]
        is_connection = found[0].lower().startswith(("server at", "host name", "hostname"))
        if keep.has(host):
            continue
        if is_address(host):
            yield Span(found.start(group), found.end(group), "address")
        elif is_connection or is_internal_host(host):
            yield Span(found.start(group), found.end(group), "host")

    if "host" in lowered or "ENOTFOUND" in text:
        for found in _after_marks(text, lowered, ("enotfound", "eai_again", "hostname", "lookup"), _RESOLVED):
            which = 1 if found[1] else 2
            if is_internal_host(found[which]) and not keep.has(found[which]):
                yield Span(found.start(which), found.end(which), "host")


def user_spans(text: str, lowered: str, keep: Keep) -> Iterator[Span]:
    """Names of accounts, where a word like `user` calls them that."""
    for found in _after_marks(text, lowered, _USER_MARKS, _NAMED_USER) if _has_sign(text) else ():
        for group, label in (
            ("quoted", "user"),
            ("at", "host"),
            ("bare", "user"),
            ("mail", "user"),
            ("odd", "user"),
        ):
            value = found[group]
            if not value or value.isdigit() or value.startswith("[") or keep.has(value):
                continue
            # A mail address is no account of a machine.
            if group != "mail" or not _PUBLIC_AFTER.match(text, found.end()):
                yield Span(found.start(group), found.end(group), label)


def _has_sign(text: str) -> bool:
    """Whether anything is quoted or assigned; one character is found much quicker than a word."""
    return "'" in text or '"' in text or "=" in text or "`" in text or "@" in text or ":" in text


def _after_marks(
    text: str, lowered: str, marks: tuple[str, ...], pattern: re.Pattern[str]
) -> Iterator[re.Match[str]]:
    """Matches of `pattern` that begin at a mark: a search for literals is many times faster than one without case."""
    for mark in marks:
        at = lowered.find(mark)
        while at >= 0:
            found = pattern.match(text, at)
            if found:
                yield found
            at = lowered.find(mark, at + len(mark))


def _ipv4_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _IPV4.finditer(text):
        first = _OCTET_BEFORE.search(text, max(0, found.start() - 4), found.start())
        if first is None:
            continue
        start, end = first.start(), found.end()
        after = text[end : end + 2]
        if after[:1].isalnum() or after[:1] == "_" or (after[:1] == "-" and after[1:].isalpha()):
            continue
        if after[:1] == "." and after[1:].isdigit():
            continue
        address = text[start:end].partition(":")[0]
        if _VERSION_BEFORE.search(text, max(0, start - 10), start):
            continue
        if is_address(address) and not keep.has(address):
            yield Span(start, end, "address")


def _ipv6_spans(text: str, keep: Keep) -> Iterator[Span]:
    for found in _IPV6.finditer(text):
        first = _IPV6_BEFORE.search(text, max(0, found.start() - 40), found.start())
        after = _IPV6_AFTER.match(text, found.end())
        if first is None or after is None:
            continue
        address = first[1] + found[0]
        is_one = _MAC.fullmatch(address) or (any(map(str.isdigit, address)) and is_address(address))
        if is_one and not keep.has(address):
            yield Span(first.start(), after.end(), "address")


def _name_spans(text: str, lowered: str, keep: Keep) -> Iterator[Span]:
    for found in _INTERNAL.finditer(lowered):
        first = _NAME_BEFORE.search(text, max(0, found.start() - 201), found.start())
        if first is None:
            continue
        host = text[first.start() : found.end()].partition(":")[0]
        if is_internal_host(host) and not keep.has(host):
            yield Span(first.start(), found.end(), "host")


def _port_spans(text: str, keep: Keep) -> Iterator[Span]:
    """`redis:6379`: one label and a port, where the port or the words before it say so."""
    for found in _PORT.finditer(text):
        label = _LABEL_BEFORE.search(text, max(0, found.start() - 63), found.start())
        if label is None or label[0].lower() in _NOT_HOSTS or keep.has(label[0]):
            continue
        before = text[label.start() - 1] if label.start() else " "
        if before.isalnum() or before in "._-:/":
            continue
        known = found[1] in _SERVICE_PORTS or label[0].lower() == "localhost"
        if (
            known
            or before == "@"
            or _PORT_WORD_BEFORE.search(text, max(0, label.start() - 16), label.start())
        ):
            yield Span(label.start(), found.end(), "host")
