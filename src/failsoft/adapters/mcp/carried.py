"""What an HTTP request of the client's carries besides its message, for the request to the server that follows from it.

A context variable takes it there: a call's attempts run in tasks that were begun by the request.
"""

from __future__ import annotations

import itertools
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

__all__ = ["TRACE", "Carried", "Refusal", "carried"]

TRACE: Final = ("traceparent", "tracestate", "baggage")
"""Headers of a trace (W3C Trace Context, Baggage): the server's work is a part of the client's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a server that wants another authorization has answered.

    Args:
        status: 401 or 403.
        challenge: Its `WWW-Authenticate`.
        body: As it came.
        media_type: Of the body.
    """

    status: int
    challenge: str
    body: bytes = b""
    media_type: str = ""


@dataclass(slots=True, kw_only=True, repr=False)
class Carried:
    """See the module. It has no `repr`, because it may hold a token.

    Args:
        authorization: The client's own, where it is to reach the server.
        number: Later requests have higher ones; tasks that outlive their request must not bring an old token back.
        headers: Others that are handed on.
        refusal: What the server said to the authorization, where it refused it.
    """

    authorization: str | None = None
    number: int = field(default_factory=itertools.count(1).__next__)
    headers: dict[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None


carried: ContextVar[Carried | None] = ContextVar("failsoft_mcp_carried", default=None)
