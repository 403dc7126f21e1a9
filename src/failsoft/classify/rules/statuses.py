"""What an HTTP status means: RFC 9110, RFC 6585, RFC 8470, WebDAV, nginx, Cloudflare.

rules of this file
  effect None   decided by the method: a repeat of a safe or idempotent request does nothing new (RFC 9110 9.2)
  effect none   the status itself says that the request was not carried out
"""

from __future__ import annotations

from typing import Final

from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["IDEMPOTENT_METHODS", "SAFE_METHODS", "by_status", "effect_of"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND"})
IDEMPOTENT_METHODS: Final = SAFE_METHODS | {"PUT", "DELETE"}

_T: Final[dict[int, tuple[ErrorKind, str, Effect | None, bool]]] = {
    400: (K.INVALID_ARGUMENT, "", NONE, False),
    401: (K.PERMISSION_DENIED, "unauthenticated", NONE, False),
    402: (K.QUOTA_EXHAUSTED, "payment_required", NONE, False),
    403: (K.PERMISSION_DENIED, "forbidden", NONE, False),
    404: (K.NOT_FOUND, "", NONE, False),
    405: (K.INVALID_ARGUMENT, "method_not_allowed", NONE, False),
    406: (K.INVALID_ARGUMENT, "", NONE, False),
    407: (K.PERMISSION_DENIED, "proxy_auth", NONE, False),
    408: (K.TIMEOUT, "", None, True),
    409: (K.CONFLICT, "", NONE, False),
    410: (K.NOT_FOUND, "gone", NONE, False),
    411: (K.INVALID_ARGUMENT, "", NONE, False),
    412: (K.CONFLICT, "precondition_failed", NONE, False),
    413: (K.INVALID_ARGUMENT, "too_large", NONE, False),
    414: (K.INVALID_ARGUMENT, "too_large", NONE, False),
    415: (K.INVALID_ARGUMENT, "", NONE, False),
    416: (K.INVALID_ARGUMENT, "", NONE, False),
    417: (K.INVALID_ARGUMENT, "", NONE, False),
    421: (K.UNAVAILABLE, "", NONE, True),
    422: (K.INVALID_ARGUMENT, "", NONE, False),
    423: (K.CONFLICT, "locked", NONE, True),
    424: (K.CONFLICT, "", NONE, False),
    425: (K.UNAVAILABLE, "too_early", NONE, True),
    426: (K.INVALID_ARGUMENT, "", NONE, False),
    428: (K.INVALID_ARGUMENT, "", NONE, False),
    429: (K.RATE_LIMITED, "", NONE, True),
    431: (K.INVALID_ARGUMENT, "too_large", NONE, False),
    440: (K.PERMISSION_DENIED, "unauthenticated", NONE, False),
    444: (K.NETWORK, "connection_closed", None, True),
    449: (K.UNAVAILABLE, "", NONE, True),
    451: (K.PERMISSION_DENIED, "legal", NONE, False),
    460: (K.NETWORK, "connection_closed", None, True),
    498: (K.PERMISSION_DENIED, "unauthenticated", NONE, False),
    499: (K.NETWORK, "connection_closed", None, True),
    500: (K.UNAVAILABLE, "", None, True),
    501: (K.UNAVAILABLE, "not_implemented", NONE, False),
    502: (K.UNAVAILABLE, "", None, True),
    503: (K.UNAVAILABLE, "", None, True),
    504: (K.TIMEOUT, "", None, True),
    505: (K.UNAVAILABLE, "not_implemented", NONE, False),
    506: (K.UNAVAILABLE, "", None, False),
    507: (K.QUOTA_EXHAUSTED, "storage_full", NONE, False),
    508: (K.UNAVAILABLE, "", None, False),
    509: (K.RATE_LIMITED, "", NONE, True),
    510: (K.UNAVAILABLE, "not_implemented", NONE, False),
    511: (K.PERMISSION_DENIED, "unauthenticated", NONE, False),
    520: (K.UNAVAILABLE, "", None, True),
    521: (K.UNAVAILABLE, "", NONE, True),
    522: (K.UNAVAILABLE, "", NONE, True),
    523: (K.UNAVAILABLE, "", NONE, True),
    524: (K.UNAVAILABLE, "", None, True),
    525: (K.UNAVAILABLE, "tls_failed", NONE, True),
    526: (K.UNAVAILABLE, "certificate_invalid", NONE, False),
    527: (K.UNAVAILABLE, "", None, True),
    529: (K.UNAVAILABLE, "overloaded", NONE, True),
    530: (K.UNAVAILABLE, "", NONE, True),
    561: (K.PERMISSION_DENIED, "unauthenticated", NONE, False),
    598: (K.TIMEOUT, "", None, True),
    599: (K.TIMEOUT, "", None, True),
}


def effect_of(method: str | None) -> Effect:
    """What a request may have done that a repeat of it would do once more."""
    return NONE if method is not None and method.upper() in IDEMPOTENT_METHODS else POSSIBLE


def by_status(status: int, method: str | None) -> Verdict:
    """What a status means; an unknown one is read as the x00 of its class, as RFC 9110 15 asks."""
    row = _T.get(status)
    if row is None:
        row = _T[500] if status >= 500 else _T[400]
    if 300 <= status < 400:
        row = (K.INVALID_ARGUMENT, "redirect", NONE, False)
    kind, reason, effect, retryable = row
    owner = Owner.HUMAN if reason in ("certificate_invalid", "proxy_auth") else None
    return verdict(
        kind,
        reason or f"http_{status}",
        effect_of(method) if effect is None else effect,
        retryable,
        owner=owner,
    )
