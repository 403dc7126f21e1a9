"""What is hidden inside of a URL: its user information, secret parameters, and hosts that are not public."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from failsoft.feedback._names import Span, words
from failsoft.feedback._secret_words import is_secret_name, looks_random

if TYPE_CHECKING:
    from collections.abc import Iterator

    from failsoft.feedback._names import Keep

__all__ = ["INTERNAL_ENDS", "is_address", "is_internal_host", "url_place_spans", "url_secret_spans"]

# A numbered placeholder has a blank in it, and does not end a URL.
_URL = re.compile(r"""://((?:[^\s"'`<>\\\[]|\[(?:[a-z]{1,12} [0-9]{1,6}\])?+){1,4096}+)""")
_HIDDEN = re.compile(r"\[secret(?: [0-9]{1,6})?\]")
_SCHEME_BEFORE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,30}\Z")
_WEB = frozenset(("http", "https", "ws", "wss"))
# Names of things, not of machines.
_NO_HOST = frozenset(
    (
        "s3",
        "s3a",
        "gs",
        "gcs",
        "az",
        "abfs",
        "abfss",
        "wasb",
        "wasbs",
        "dbfs",
        "data",
        "urn",
        "resource",
        "ui",
    )
)
INTERNAL_ENDS = tuple(
    sorted(
        words(
            "internal local corp lan intra intranet private home localdomain svc consul cluster prod staging localhost"
            " onion"
        )
    )
)
_PARAMETER = re.compile(r"[?&;#]([A-Za-z0-9_.\-]{1,64})=([^&;#\s]{1,4096}+)")
_AUTHORITY = re.compile(r"[^/?#]*+")
_HOST_CLOSING = ".,;:!?)}"
_CLOSING = ".,;:!?)]}"


def _split(run: str, scheme: str) -> tuple[str, str, int]:
    """User information, `host:port`, and where the host begins within `run`."""
    authority = _AUTHORITY.match(run)[0]  # type: ignore[index]  # matches the empty text too
    at = authority.rfind("@")
    # A password may hold a slash or a second @; only web addresses have an @ of another meaning further on.
    if (
        at < 0
        and "@" in run
        and (scheme not in _WEB or (":" in authority and not authority.rpartition(":")[2].isdigit()))
    ):
        at = run.partition("?")[0].rfind("@")
    if at < 0:
        return "", authority.rstrip(_HOST_CLOSING), 0
    host = _AUTHORITY.match(run, at + 1)[0]  # type: ignore[index]
    return run[:at], host.rstrip(_HOST_CLOSING), at + 1


def _urls(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Scheme, where it begins, where the part behind `://` begins, and that part."""
    for found in _URL.finditer(text):
        at = found.start()
        if at >= 5 and text.startswith("https", at - 5):
            yield "https", at - 5, at + 3, found[1]
        elif before := _SCHEME_BEFORE.search(text, max(0, at - 31), at):
            yield before[0].lower(), before.start(), at + 3, found[1]


def url_secret_spans(text: str) -> Iterator[Span]:
    """Passwords and secret parameters of every URL; the user's name stays for the operator."""
    for scheme, _, start, run in _urls(text):
        if "@" in run:
            account = _split(run, scheme)[0]
            name, colon, password = account.partition(":")
            if colon and _HIDDEN.fullmatch(password):
                pass
            elif colon:
                yield Span(start + len(name) + 1, start + len(account), "secret")
            elif len(name) > 12 and looks_random(name):
                yield Span(start, start + len(name), "secret")
        for parameter in _PARAMETER.finditer(run) if "=" in run else ():
            if is_secret_name(parameter[1]) and not parameter[2].startswith("["):
                yield Span(start + parameter.start(2), start + parameter.end(2), "secret")


def url_place_spans(text: str, keep: Keep) -> Iterator[Span]:
    """Users, hosts that are not public, and `file:` paths."""
    for scheme, begin, start, run in _urls(text):
        if scheme == "file":
            whole = run.rstrip(_CLOSING)
            if not keep.has(whole):
                base = whole.rstrip("/").rsplit("/", 1)[-1]
                yield Span(begin, start + len(whole), "path", base)
            continue
        account, host, offset = _split(run, scheme)
        if account:
            name = account.partition(":")[0]
            if name and not name.startswith("["):
                yield Span(start, start + len(name), "user")
        if scheme in _NO_HOST and not account:
            continue
        bare = host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host
        if not bare or bare.startswith(("[host", "[address")) or keep.has(bare):
            continue
        if is_address(bare.strip("[]")):
            yield Span(start + offset, start + offset + len(host), "address")
        elif scheme not in _WEB or is_internal_host(bare):
            yield Span(start + offset, start + offset + len(host), "host")


def is_internal_host(host: str) -> bool:
    """Whether a name says that it means something only inside: one label, or an ending that is not public."""
    labels = host.lower().rstrip(".").split(".")
    return len(labels) == 1 or labels[-1] in INTERNAL_ENDS or "svc" in labels[1:] or "internal" in labels


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    # The library's own answer to a host name is an exception, which costs more than all the rest of a short text.
    if not text or not (":" in text or text[-1].isdigit()):
        return False
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True
