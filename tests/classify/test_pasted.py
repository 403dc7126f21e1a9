"""Texts that a person pastes are read like what they came from."""

from __future__ import annotations

import pytest

from failsoft.classify import classify_text


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("httpx.ConnectTimeout: timed out", "timeout", "connect_timeout"),
        ("requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='x', port=443): Read timed out.", "timeout", "read_timeout"),
        ("ValueError: bad", "internal", "value_error"),
        ("TimeoutError", "timeout", "request_timeout"),
        ("something odd happened", "unknown", "unknown"),
        ('Traceback (most recent call last):\n  File "x.py", line 1, in f\nConnectionRefusedError: [Errno 111] no', "network", "connect_refused"),
        ("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n\r\n{}", "rate_limited", "http_429"),
        ("HTTP/2 503\n\n", "unavailable", "http_503"),
        ('{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}', "unavailable", "overloaded"),
        ("", "unknown", "unknown"),
    ],
)  # fmt: skip
def test_pasted(text: str, kind: str, reason: str) -> None:
    """A response, a body, a traceback or one line gives the kind that the thing itself would get."""
    error = classify_text(text)
    assert error is not None
    assert (error.kind, error.reason) == (kind, reason)


def test_pasted_hint() -> None:
    """Headers of a pasted response count."""
    error = classify_text("HTTP/1.1 429 X\nRetry-After: 7\n\n")
    assert error is not None
    assert error.retry_after_s == 7


def test_pasted_good_response() -> None:
    """A good response is no error."""
    assert classify_text("HTTP/1.1 200 OK\n\nall is well") is None
