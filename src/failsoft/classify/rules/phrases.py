"""What words mean where no code and no type says it: provider messages first, then texts of unknown exceptions.

Each pattern is narrow on purpose: a wrong kind is worse than `unknown`.
"""

from __future__ import annotations

import re
from typing import Final

from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind, Owner

__all__ = ["CONTEXT_OVERFLOW", "certificate", "of_answer", "of_text"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

_CERTIFICATE = re.compile(
    r"certificate[ _]verify[ _]failed|certificate has expired|self[- ]signed certificate|unable to get local issuer"
    r"|hostname mismatch|certificate is not valid|doesn't match (?:either of )?'|CertificateError|certificate required"
    r"|unknown ca\b|certificate revoked|certificate unknown|bad certificate|UNKNOWN_CA|ERR_CERT_\w+",
    re.I,
)
# One of these is in every text that the pattern above matches; asking for them first costs a tenth.
_CERTIFICATE_HINTS = ("cert", "signed", "issuer", "mismatch", "match", "unknown ca", "unknown_ca")
_PROBLEM = re.compile(
    r"certificate verify failed: ([^()'\"]{3,120}?)(?=\s*[('\"]|$)|(certificate has expired|self[- ]signed certificate"
    r"|unable to get local issuer certificate|hostname mismatch)",
    re.I,
)
CONTEXT_OVERFLOW: Final = re.compile(
    r"maximum context length|context (?:length|window|size)[^.]{0,60}(?:exceed|too|limit)|exceed\w*[^.]{0,40}context"
    r"|prompt is too long|input (?:is too long|token count[^.]{0,60}exceeds)|too many (?:input )?tokens"
    r"|input length and `?max_tokens`? exceed|reduce the length of the (?:messages|prompt|input)|maximum number of tokens",
    re.I,
)
_QUOTA = re.compile(
    r"insufficient[ _]quota|exceeded your (?:current|monthly|account) (?:quota|usage|limit)|quota exceeded(?! for)|out of credits?"
    r"|credit balance is too low|(?:insufficient|not enough) credits?|plan and billing|billing (?:hard |soft )?limit"
    r"|(?:enable|activate|inactive|disabled) billing|billing (?:account )?(?:is )?(?:not active|disabled|inactive)"
    r"|spend(?:ing)?[ _](?:cap|limit)[^.]{0,30}(?:reach|exceed|hit)|add (?:more )?credits|payment required"
    r"|(?:monthly|usage) (?:limit|cap|quota)s?[^.]{0,30}(?:reached|exceeded)|reached your[^.]{0,40}usage limits?",
    re.I,
)
_DAY = re.compile(
    r"requests per day|tokens per day|\((?:RPD|TPD)\)|per[- _]?day\b|daily (?:quota|limit|usage|cap|request)|free tier[^.]{0,20}per day",
    re.I,
)
_RATE = re.compile(
    r"rate[- _]?limit|too many requests|secondary limit|abuse detection|throttl|slow down|requests per (?:minute|second)"
    r"|submitted too quickly|quota[^.]{0,20}per minute",
    re.I,
)
_FILTER = re.compile(
    r"content (?:management|policy|filter)[^.]{0,40}(?:polic|violat|trigger|block|filter)|response was filtered|blocked by[^.]{0,30}safety"
    r"|output blocked by content filtering|flagged as potentially violating|content filter",
    re.I,
)
_BUSY = re.compile(r"overloaded|over capacity|at capacity|no capacity|high demand", re.I)
_LOGIN = re.compile(
    r"api[ _-]?key (?:not valid|expired|is invalid)|invalid (?:x-)?api[ _-]?key|incorrect api key|invalid authentication"
    r"|(?:password )?authentication failed|login failed|invalid (?:access|bearer|auth|refresh|session|api)[ _-]?token|token (?:has |is )?expired|bad credentials"
    r"|not authenticated|unauthenticated|\bunauthorized\b|access denied for user",
    re.I,
)

# On the words of a service that answered with one of these statuses; None: with any, or with a body alone.
_ANSWERS: Final[tuple[tuple[re.Pattern[str], frozenset[int] | None, Verdict], ...]] = (
    (
        CONTEXT_OVERFLOW,
        frozenset({400, 413, 422, 500}),
        verdict(K.MODEL_ERROR, "context_overflow", owner=Owner.MODEL),
    ),
    (_FILTER, frozenset({400, 403}), verdict(K.MODEL_ERROR, "content_filter", owner=Owner.MODEL)),
    (_DAY, frozenset({403, 429}), verdict(K.QUOTA_EXHAUSTED, "daily_quota")),
    (re.compile(r"rate[- _]?limit|per minute", re.I), frozenset({403, 429}), verdict(K.RATE_LIMITED)),
    (_QUOTA, frozenset({400, 402, 403, 429}), verdict(K.QUOTA_EXHAUSTED)),
    (_RATE, frozenset({403}), verdict(K.RATE_LIMITED)),
    (_LOGIN, frozenset({400}), verdict(K.PERMISSION_DENIED, "unauthenticated")),
    (_BUSY, frozenset({500, 503, 529}), verdict(K.UNAVAILABLE, "overloaded", NONE)),
)

# On the text of an exception whose type says nothing. In this order.
_TEXTS: Final[tuple[tuple[re.Pattern[str], Verdict], ...]] = (
    (_QUOTA, verdict(K.QUOTA_EXHAUSTED)),
    (re.compile(r"rate[- _]?limit(?:ed|s?\s+(?:exceeded|reached|hit)| error)|too many requests|throttl(?:ed|ing)\b", re.I), verdict(K.RATE_LIMITED)),
    (CONTEXT_OVERFLOW, verdict(K.MODEL_ERROR, "context_overflow", owner=Owner.MODEL)),
    (_LOGIN, verdict(K.PERMISSION_DENIED, "unauthenticated", POSSIBLE)),
    (re.compile(r"database is locked|database table is locked", re.I), verdict(K.UNAVAILABLE, "database_locked", POSSIBLE)),
    (re.compile(r"deadlock (?:detected|found)", re.I), verdict(K.CONFLICT, "deadlock", POSSIBLE, True)),
    (re.compile(r"could not serialize access|serialization failure", re.I), verdict(K.CONFLICT, "serialization_failure", POSSIBLE, True)),
    (re.compile(r"connection refused|\bECONNREFUSED\b", re.I), verdict(K.NETWORK, "connect_refused", POSSIBLE)),
    (
        re.compile(r"name or service not known|name resolution|getaddrinfo failed|\bENOTFOUND\b|\bEAI_AGAIN\b|nodename nor servname", re.I),
        verdict(K.NETWORK, "dns_failed", POSSIBLE),
    ),
    (re.compile(r"connection (?:was )?(?:reset|aborted|closed|lost|terminated|broken)|broken pipe|\bECONNRESET\b|\bEPIPE\b|server disconnected|remote end closed", re.I), verdict(K.NETWORK, "connection_lost")),
    (re.compile(r"no route to host|network is unreachable|\bE(?:HOST|NET)UNREACH\b", re.I), verdict(K.NETWORK, "host_unreachable", POSSIBLE)),
    (re.compile(r"\btimed[ -]?out\b|\btime-?out (?:exceeded|expired|after|while|waiting)|deadline exceeded|\bETIMEDOUT\b", re.I), verdict(K.TIMEOUT, "request_timeout")),
    (re.compile(r"service (?:is )?(?:temporarily )?unavailable|temporarily unavailable|bad gateway|(?:is|currently|server|service|model) overloaded\b", re.I), verdict(K.UNAVAILABLE)),
    (re.compile(r"permission denied|access denied|\bforbidden\b|not authorized|insufficient permissions?", re.I), verdict(K.PERMISSION_DENIED, "forbidden", POSSIBLE)),
)  # fmt: skip

# A number is a status only where the text says so, or begins with it and goes on like a status line.
_STATUS = re.compile(
    r"(?:\bHTTP(?:/\d(?:\.\d)?)?\s*(?:status|error|code)?:?\s*|\bstatus(?:[ _]code)?\s*[:=]?\s*|\berror code\s*[:=]\s*"
    r"|\b(?:returned|got|answered|responded with) (?:an? )?)([45]\d\d)\b(?![.,]\d|\s*(?:ms|s|seconds|rows|items|bytes|records|files|px)\b)"
    r"|^([45]\d\d)(?=\s*$|\s*[:;,-]\s|\s+(?:from|error|client|server|bad|unauthorized|payment|forbidden|not|method|proxy|request"
    r"|conflict|gone|unprocessable|too|internal|service|gateway)\b)",
    re.I,
)


def certificate(text: str) -> Verdict | None:
    """A verdict for a text about a certificate that could not be verified."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _CERTIFICATE_HINTS) or not _CERTIFICATE.search(text):
        return None
    said = _PROBLEM.search(text)
    problem = ((said.group(1) or said.group(2)) if said else "").strip()
    message = (
        f"The server's certificate could not be verified ({problem}); nothing was sent." if problem else ""
    )
    return verdict(
        K.UNAVAILABLE, "certificate_invalid", NONE, False, message=message, owner=Owner.HUMAN, domain=None
    )


def of_answer(message: str, status: int | None) -> Verdict | None:
    """What a service's own words add to its status."""
    for pattern, statuses, judged in _ANSWERS if message else ():
        if (statuses is None or status is None or status in statuses) and pattern.search(message):
            return judged
    return None


def of_text(text: str) -> Verdict | None:
    """What the text of an unknown exception says. Words prove no effect, so none is ruled out by them alone."""
    found = certificate(text)
    if found is not None:
        return found
    return next((judged for pattern, judged in _TEXTS if pattern.search(text)), None)


def status_in(text: str) -> int | None:
    """An HTTP status that a text names as such."""
    found = _STATUS.search(text[:300])
    return int(found.group(1) or found.group(2)) if found else None
