"""Words as the last resort: what they say, and what they must not be taken for."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.classify import classify, classify_response


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("401 from provider: invalid key", "permission_denied"),
        ("HTTP 503 from upstream", "unavailable"),
        ("status code: 404", "not_found"),
        ("Request failed with status 429", "rate_limited"),
        ("upstream returned a 502", "unavailable"),
        ("404 Not Found", "not_found"),
        ("429: slow", "rate_limited"),
        ("password authentication failed for user x", "permission_denied"),
        ("Too many requests, please slow down", "rate_limited"),
        ("You exceeded your current quota, please check your plan and billing details", "quota_exhausted"),
        ("connect ECONNREFUSED 127.0.0.1:80", "network"),
        ("getaddrinfo ENOTFOUND api.example.test", "network"),
        ("socket hang up: ECONNRESET", "network"),
        ("operation timed out", "timeout"),
        ("context deadline exceeded", "timeout"),
        ("certificate verify failed: certificate has expired", "unavailable"),
        ("prompt is too long: 5 tokens > 3 maximum", "model_error"),
        ("database is locked", "unavailable"),
    ],
)
def test_said_in_words(text: str, kind: str) -> None:
    """A text that says what happened gives the kind."""
    assert classify(RuntimeError(text)).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "billing address is missing", "invalid token at position 5", "unexpected token '<'", "wrote 503 rows", "404 items shipped",
        "expected 500 bytes, got 400 bytes", "order 429 is unpaid", "the timeout must be positive", "insufficient funds in account 5",
        "operator + is not overloaded for these", "the certificate field is required", "a rate of 5 was expected", "quota must be a number",
        "the response: 450 widgets", "refused to run twice", "room 404", "connection string is empty", "the lock is painted red",
        "the model has 500 parameters", "daily report failed", "could not parse 4xx",
    ],
)  # fmt: skip
def test_not_said_in_words(text: str) -> None:
    """A text about something else stays unknown: a wrong kind is worse than none."""
    assert classify(RuntimeError(text)).kind == "unknown"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"message": "Billing address is required"}, "invalid_argument"),
        (400, {"message": "Insufficient funds in account 5"}, "invalid_argument"),
        (400, {"message": "invalid token at line 3"}, "invalid_argument"),
        (403, {"message": "This operation is forbidden"}, "permission_denied"),
        (500, {"status": "aborted", "message": "job aborted"}, "unavailable"),
        (500, {"status": "failed", "reason": "not found in the cache"}, "unavailable"),
        (429, {"message": "Only 3 messages per minute"}, "rate_limited"),
    ],
)  # fmt: skip
def test_words_beside_a_status(status: int, body: Any, kind: str) -> None:
    """A service's words change the meaning of a status only where they say so plainly."""
    error = classify_response(status, {}, body, method="POST")
    assert error is not None
    assert error.kind == kind


def test_words_prove_no_effect() -> None:
    """A text proves nothing about what was done."""
    for text in ("Connection refused", "404 Not Found", "database is locked", "name resolution failed"):
        assert classify(RuntimeError(text)).effect == "possible"
