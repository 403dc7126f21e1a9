"""HTTP answers: statuses with methods, bodies of providers and services, errors behind a good status."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from failsoft.classify import classify_response
from failsoft.classify.rules.statuses import _T

NOW = datetime(2026, 3, 2, 10, 0, 0, tzinfo=UTC)


def _read(
    status: int, body: Any = None, headers: Any = None, method: str | None = "POST"
) -> tuple[str, bool, str]:
    error = classify_response(status, headers or {}, body, method=method, now=NOW)
    assert error is not None
    return str(error.kind), error.retryable, str(error.effect)


@pytest.mark.parametrize(
    ("status", "method", "wanted"),
    [
        (503, "GET", ("unavailable", True, "none")),
        (503, "HEAD", ("unavailable", True, "none")),
        (503, "PUT", ("unavailable", True, "none")),
        (503, "DELETE", ("unavailable", True, "none")),
        (503, "POST", ("unavailable", True, "possible")),
        (503, "PATCH", ("unavailable", True, "possible")),
        (503, None, ("unavailable", True, "possible")),
        (504, "POST", ("timeout", True, "possible")),
        (504, "get", ("timeout", True, "none")),
        (408, "POST", ("timeout", True, "possible")),
        (429, "POST", ("rate_limited", True, "none")),
        (425, "POST", ("unavailable", True, "none")),
        (529, "POST", ("unavailable", True, "none")),
        (521, "POST", ("unavailable", True, "none")),
        (524, "POST", ("unavailable", True, "possible")),
        (501, "GET", ("unavailable", False, "none")),
        (409, "POST", ("conflict", False, "none")),
        (412, "PUT", ("conflict", False, "none")),
        (402, "POST", ("quota_exhausted", False, "none")),
        (418, "GET", ("invalid_argument", False, "none")),
        (599, "POST", ("timeout", True, "possible")),
        (555, "POST", ("unavailable", True, "possible")),
    ],
)
def test_status_and_method(status: int, method: str | None, wanted: tuple[str, bool, str]) -> None:
    """The status decides the kind, the method decides what may have happened."""
    assert _read(status, method=method) == wanted


@pytest.mark.parametrize("status", sorted(_T))
def test_every_status_has_words(status: int) -> None:
    """Every status of the table gives a sentence, a reason and a consistent owner."""
    error = classify_response(status, {}, None)
    assert error is not None
    assert error.message.endswith(".")
    assert error.reason
    assert error.owner != "runtime" or error.retryable or error.kind == "model_error"


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (429, {"error": {"code": "insufficient_quota", "message": "x"}}, "quota_exhausted", "quota_exhausted"),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "on requests per day (RPD)"}}, "quota_exhausted", "daily_quota"),
        (429, {"error": {"message": "You exceeded your current quota. Please retry in 3s."}}, "rate_limited", "http_429"),
        (400, {"error": {"message": "prompt is too long: 3 > 2"}}, "model_error", "context_overflow"),
        (400, {"error": {"code": "content_filter", "message": "x"}}, "model_error", "content_filter"),
        (400, {"error": {"message": "Your credit balance is too low"}}, "quota_exhausted", "quota_exhausted"),
        (403, {"error": {"errors": [{"reason": "userRateLimitExceeded"}]}}, "rate_limited", "rate_limited"),
        (403, {"message": "Resource not accessible"}, "permission_denied", "forbidden"),
        (400, {"__type": "com.amazon#ThrottlingException", "message": "Rate exceeded"}, "rate_limited", "rate_limited"),
        (503, "<Error><Code>SlowDown</Code><Message>less</Message></Error>", "unavailable", "overloaded"),
        (404, {"error": {"code": "model_not_found", "type": "invalid_request_error"}}, "not_found", "not_found"),
        (409, {"kind": "Status", "status": "Failure", "reason": "AlreadyExists", "code": 409}, "conflict", "already_exists"),
        (200, {"ok": False, "error": "ratelimited"}, "rate_limited", "rate_limited"),
        (200, {"error": {"code": 429, "message": "Provider returned error"}}, "rate_limited", "http_429"),
        (200, {"choices": [{"error": {"code": 502, "message": "x"}}]}, "unavailable", "http_502"),
        (200, 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n', "unavailable", "overloaded"),
        (200, {"data": None, "errors": [{"message": "x", "extensions": {"code": "FORBIDDEN"}}]}, "permission_denied", "forbidden"),
        (200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool: x"}}, "unknown_tool", "unknown_tool"),
        (404, {"jsonrpc": "2.0", "id": 1, "error": {"code": 32600, "message": "Session terminated"}}, "unavailable", "session_lost"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["parsed", "text", "bytes"])
def test_bodies(status: int, body: Any, kind: str, reason: str, form: str) -> None:
    """A body's codes and words say more than the status, in whatever form the body comes."""
    if form != "parsed" and not isinstance(body, str):
        body = json.dumps(body)
    error = classify_response(status, {}, body.encode() if form == "bytes" else body, method="POST")
    assert error is not None
    assert (error.kind, error.reason) == (kind, reason)


@pytest.mark.parametrize(
    "body",
    [
        None, "", {}, [], "ok", {"error": None}, {"error": ""}, {"error": {}}, {"errors": []}, {"ok": True},
        {"error": {"code": 0, "message": "success"}, "data": [1]}, {"data": {"a": 1}, "errors": [{"message": "partly"}]},
        {"text": "the build failed with error 500"}, "<html>Error 503</html>", {"status": "failed", "items": []},
        "event: message\ndata: {\"type\": \"message\"}\n", [{"error_count": 3}], {"error": "none so far", "rows": [1, 2]},
    ],
)  # fmt: skip
def test_answers_are_no_errors(body: Any) -> None:
    """A good answer that talks of errors is still a good answer."""
    assert classify_response(200, {"content-type": "application/json"}, body) is None


def test_page_of_a_cdn_is_not_shown() -> None:
    """No markup, ray id or address of an HTML error page reaches the message."""
    page = "<!DOCTYPE html><title>520</title>Ray ID: 8f00aa11bb22cc33 Your IP address: 203.0.113.77"
    error = classify_response(520, {"content-type": "text/html"}, page)
    assert error is not None
    assert not any(piece in error.message for piece in ("<", "8f00", "203.0"))


def test_docs_links_are_not_shown() -> None:
    """A provider's links to its documentation are left out, its words are kept."""
    words = "Unknown parameter 'n'. See https://platform.example.test/docs/errors for more details."
    error = classify_response(400, {}, {"error": {"message": words}}, method="POST")
    assert error is not None
    assert "Unknown parameter 'n'" in error.message
    assert "http" not in error.message


def test_explicit_no_and_yes() -> None:
    """The server's own yes or no is obeyed, but no quota comes back because of it."""
    assert _read(503, headers={"x-should-retry": "false"}, method="GET")[1] is False
    assert _read(409, headers={"x-should-retry": "true"})[1] is True
    quota = {"error": {"code": "insufficient_quota"}}
    assert _read(429, quota, {"x-should-retry": "true"}) == ("quota_exhausted", False, "none")


def test_repeatable_method_says_so() -> None:
    """A PUT that may have been carried out says so, and that a repeat changes nothing."""
    error = classify_response(503, {}, None, method="PUT")
    assert error is not None
    assert error.context["repeatable"] is True
    assert "may have been carried out" in error.message


@pytest.mark.parametrize("headers", [None, [], "junk", 5, {"a": object()}, [("x",)], {b"Retry-After": b"3"}])
def test_odd_headers(headers: Any) -> None:
    """Headers of any shape are read or ignored, never raised on."""
    assert _read(429, headers=headers)[0] == "rate_limited"


@pytest.mark.parametrize(
    "body", ["{" * 5000, "[" * 100_000, b"\xff\xfe", {"error": [1]}, {"error": {"message": 5}}, 7]
)
def test_odd_bodies(body: Any) -> None:
    """A body of any shape is read or ignored, never raised on."""
    assert _read(500, body)[0] == "unavailable"
