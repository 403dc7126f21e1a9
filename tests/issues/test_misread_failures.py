"""Failures that agent frameworks and their users saw misread; each test names where it was seen."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from failsoft.classify import classify, classify_response


def _requests_answer(status: int, body: bytes = b"") -> requests.HTTPError:
    answer = requests.Response()
    answer.status_code = status
    answer._content = body
    answer.request = requests.Request("GET", "https://api.example.test/x").prepare()
    return requests.HTTPError(f"{status} for url", response=answer)


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (404, False), (429, True), (503, True)])
def test_response_that_is_false(status: int, retryable: bool) -> None:
    """LangGraph's default predicate: a requests response of 400 and above is falsy and must be read all the same."""
    assert classify(_requests_answer(status)).retryable is retryable


@pytest.mark.parametrize("exc", [requests.Timeout(), requests.ConnectionError("x"), TimeoutError()])
def test_timeouts_of_requests_are_transient(exc: Exception) -> None:
    """LangGraph's default predicate: requests' time-outs are OSErrors, and transient."""
    assert classify(exc).retryable


def test_permission_is_not_retried() -> None:
    """LangChain's retry middleware ran a tool three times on PermissionError('403')."""
    assert not classify(PermissionError("403")).retryable


def test_body_of_an_unread_stream_is_not_read() -> None:
    """A streaming answer of requests must not be pulled from the network while its error is looked at."""

    class Raw:
        def read(self, *_: Any, **__: Any) -> bytes:
            raise AssertionError("the network was read")

    exc = _requests_answer(503)
    exc.response._content = False
    exc.response.raw = Raw()
    assert classify(exc).kind == "unavailable"


def test_extreme_year_in_retry_after() -> None:
    """anthropic-sdk-python#1827, urllib3#1822: an extreme date or a duration in Retry-After must not raise."""
    for text in ("Fri, 31 Dec 9999999 23:59:59 GMT", "1m0s", "9" * 5000):
        error = classify_response(429, {"Retry-After": text}, None)
        assert error is not None
        assert error.retry_after_s is None


def test_gemini_names_a_quota_for_a_limit_per_minute() -> None:
    """Gemini's 429 speaks of the current quota and of billing, and says in how many seconds to come back."""
    body = {
        "error": {
            "code": 429,
            "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing details. Please retry in 38.2s.",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"}],
        }
    }
    error = classify_response(429, {}, body, method="POST")
    assert error is not None
    assert (error.kind, error.retry_after_s) == ("rate_limited", 38)


def test_generic_sentence_is_not_all() -> None:
    """The opposite of "please try again": a model is told what a service refused."""
    error = classify_response(422, {}, {"detail": [{"loc": ["body", "amount"], "msg": "must be positive"}]})
    assert error is not None
    assert "amount: must be positive" in error.message
