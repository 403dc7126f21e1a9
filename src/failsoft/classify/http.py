"""An HTTP answer, from wherever it came, judged: codes in the body, then words, then the status; hints on top.

the method decides what an answer such as 503 leaves behind:
  GET, HEAD, OPTIONS   nothing to fear, effect none
  PUT, DELETE          a repeat does nothing new (RFC 9110 9.2.2): effect none, and the message says so
  POST, PATCH, not known   possible
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from failsoft.core.kinds import Effect, ErrorKind

from .body import BodyFacts, parse_body, read_body
from .headers import lower_headers
from .hints import hint_of
from .rules.agents import json_rpc
from .rules.codes import general, specific
from .rules.phrases import of_answer
from .rules.statuses import SAFE_METHODS, by_status, effect_of
from .sentences import sentence
from .text import one_line
from .verdict import Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["Answer", "judge"]

# A status line's own words add nothing to the sentence of the status.
_PHRASES = frozenset(one.phrase.lower() for one in HTTPStatus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer.

    Args:
        status: None where only a body is known.
        headers: Names in lower case.
        body: Parsed JSON, text, or None.
        method: Of the request; None when not known.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    method: str | None = None

    @classmethod
    def of(cls, status: int | None, headers: Any, body: Any, method: str | None) -> Answer:
        """An answer from values in any of the shapes that clients keep them in."""
        return cls(
            status=status,
            headers=lower_headers(headers),
            body=parse_body(body),
            method=method.upper() if isinstance(method, str) else None,
        )


def judge(
    answer: Answer, now: datetime | None = None, *, raised: bool = False, meaning: Verdict | None = None
) -> Verdict | None:
    """The verdict on an answer; None when it is no error.

    Args:
        answer: What came back.
        now: The present moment, for hints that are moments.
        raised: Whether a client already took it for an error, so that a good status proves nothing.
        meaning: What it is for certain, where the exception's type says so.
    """
    facts = read_body(answer.body)
    status = answer.status
    if status is None or status < 400:
        if not facts.is_error and not raised:
            return None
        redirected = raised and status is not None and 300 <= status < 400
        status = facts.status or (status if redirected else None)
    judged = meaning or _of_tool_server(answer) or _meaning(answer, facts, status)
    if judged is None:
        if not facts.is_error and not facts.message:
            return None
        judged = verdict(ErrorKind.UNKNOWN, "error_in_body", _effect(answer))
    return _with_hint(_with_words(judged, answer, facts), answer, now)


def _of_tool_server(answer: Answer) -> Verdict | None:
    """A JSON-RPC error, as MCP servers send it; its code says more than the status around it."""
    body = answer.body
    error = body.get("error") if isinstance(body, dict) and "jsonrpc" in body else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return None
    return json_rpc(error["code"], str(error.get("message") or "")).but(message="")


def _effect(answer: Answer) -> Effect:
    return effect_of(answer.method)


def _meaning(answer: Answer, facts: BodyFacts, status: int | None) -> Verdict | None:
    by_words = of_answer(facts.message, status)
    if (
        status == 403
        and (by_words is None or by_words.kind != ErrorKind.QUOTA_EXHAUSTED)
        and _limited(answer)
    ):
        return verdict(ErrorKind.RATE_LIMITED)
    codes = [found for code in facts.codes if (found := specific(code))]
    by_code = next(
        (one for one in codes if one.kind == ErrorKind.QUOTA_EXHAUSTED), codes[0] if codes else None
    )
    if by_code is not None and not (by_words is not None and _words_win(by_words, by_code)):
        return _ruled(by_code, answer)
    if by_words is not None and not _passes(by_words, status, answer):
        return by_words
    if status is not None:
        return by_status(status, answer.method)
    found = next((found for code in facts.codes if (found := general(code))), None)
    return _ruled(found, answer) if found is not None else None


def _words_win(words: Verdict, code: Verdict) -> bool:
    """Whether a provider's words say more than its code: a daily quota behind a code for any rate limit."""
    if code.kind == ErrorKind.INVALID_ARGUMENT:
        return words.kind in (ErrorKind.QUOTA_EXHAUSTED, ErrorKind.MODEL_ERROR, ErrorKind.PERMISSION_DENIED)
    return code.kind == ErrorKind.RATE_LIMITED and words.reason == "daily_quota"


def _passes(words: Verdict, status: int | None, answer: Answer) -> bool:
    """Whether a quota that the words name comes back soon: Gemini says "current quota" of its limits per minute."""
    if status != 429 or words.reason != "quota_exhausted":
        return False
    return hint_of({}, answer.body, None, resets=False).retry_after_s is not None


def _ruled(found: Verdict, answer: Answer) -> Verdict:
    """A code's verdict, its effect lowered where the method leaves nothing to fear."""
    return found.but(effect=_effect(answer)) if found.effect is Effect.POSSIBLE else found


def _limited(answer: Answer) -> bool:
    """Whether a 403 is a limit in disguise, as GitHub's secondary limits are."""
    return "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining", "").strip() == "0"


def _with_words(judged: Verdict, answer: Answer, facts: BodyFacts) -> Verdict:
    said = one_line(facts.message, 180)
    message = judged.message or sentence(judged.reason, judged.kind)
    lost = judged.retryable and judged.kind in (ErrorKind.UNAVAILABLE, ErrorKind.TIMEOUT, ErrorKind.NETWORK)
    if lost and judged.effect is Effect.NONE and answer.method in ("PUT", "DELETE"):
        message += " It may have been carried out; sending the same again changes nothing more."
    if said and said.lower() not in _PHRASES and said.lower().strip(".") != message.lower().strip("."):
        message = f"{message} The service says: {said}"
    context = dict(judged.context)
    if answer.status is not None:
        context["status"] = answer.status
    if answer.method is not None:
        context["method"] = answer.method
        if answer.method not in SAFE_METHODS and effect_of(answer.method) is Effect.NONE:
            context["repeatable"] = True
    return judged.but(message=message, context=context)


def _with_hint(judged: Verdict, answer: Answer, now: datetime | None) -> Verdict:
    limited = judged.kind == ErrorKind.RATE_LIMITED
    hint = hint_of(answer.headers, answer.body, now, resets=limited)
    settled = judged.kind in (ErrorKind.QUOTA_EXHAUSTED, ErrorKind.MODEL_ERROR) and hint.should_retry
    if hint.should_retry is not None and hint.should_retry != judged.retryable and not settled:
        judged = judged.but(retryable=hint.should_retry)
    if hint.retry_after_s is None or not (judged.retryable or limited):
        return judged
    return judged.but(retry_after_s=hint.retry_after_s)
