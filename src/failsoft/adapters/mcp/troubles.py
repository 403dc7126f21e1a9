"""What is told of troubles on the way to a server behind a URL: what helps, and neither addresses nor secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx2

from failsoft.core.errors import NetworkError
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["broken", "without_secrets"]

_NOT_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
# Headers that every client sends; all others may be a user's own, and their values secrets.
_COMMON: Final = (
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "user-agent",
)
_SHORTEST_SECRET: Final = 8


def broken(exc: httpx2.HTTPError, connect_s: float) -> NetworkError:
    """The failure of a request that got no answer."""
    if not isinstance(exc, _NOT_SENT):
        return NetworkError(
            f"The connection to the server broke: {type(exc).__name__}.",
            reason="connection_lost",
            effect=Effect.POSSIBLE,
        )
    return NetworkError(
        f"The server at its URL could not be reached: {_why(exc, connect_s)}.",
        reason="connect_failed",
        effect=Effect.NONE,
    )


def _why(exc: httpx2.HTTPError, connect_s: float) -> str:
    text = str(exc).lower()
    if isinstance(exc, httpx2.TimeoutException):
        return f"no connection in {connect_s:g} s"
    if "certificate" in text or "ssl" in text:
        return "its certificate is not accepted, or it speaks no TLS"
    if "name" in text or "getaddrinfo" in text:
        return "the name of its host is not known"
    return f"nothing listens there, or nothing gets there ({type(exc).__name__})"


def without_secrets(text: str, sent: Mapping[str, str]) -> str:
    """What a server wrote, without what it was sent in headers: some quote a token that they refuse."""
    for name, value in sent.items():
        if name.lower() not in _COMMON:
            for part in value.split():
                if len(part) >= _SHORTEST_SECRET:
                    text = text.replace(part, "[secret]")
    return text
