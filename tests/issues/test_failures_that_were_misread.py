"""Failures that runtimes took for something else, retold with data of our own."""

import asyncio
import json
import socket
import sqlite3
import ssl
from datetime import UTC, datetime

import pytest

from failsoft import Feedback, classify, classify_response
from tests.cases.seen import retry_word

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


def answer_of(library, status, body, headers=()):
    """A response of an HTTP library."""
    request = library.Request("POST", "https://models.example.test/v1")
    return library.Response(status, json=body, headers=dict(headers), request=request)


def told(error):
    """What the model reads."""
    return Feedback().render(error)


def test_an_overload_inside_of_a_stream_is_no_success_status():
    """The body's own type goes before the status of the stream's start (anthropics/anthropic-sdk-python#1258)."""
    anthropic = pytest.importorskip("anthropic")
    httpx2 = pytest.importorskip("httpx2")
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
    error = classify(anthropic.APIStatusError("event", response=answer_of(httpx2, 200, {}), body=body))
    assert (error.kind, error.reason) == ("unavailable", "overloaded")
    assert retry_word(error) is True


def test_an_empty_account_is_no_rate_limit():
    """`insufficient_quota` behind 429 is not waited out (langchain-ai/langchainjs#1929)."""
    openai = pytest.importorskip("openai")
    httpx2 = pytest.importorskip("httpx2")
    inner = {"message": "please add funds", "type": "insufficient_quota", "code": "insufficient_quota"}
    made = openai.RateLimitError("no", response=answer_of(httpx2, 429, {"error": inner}), body=inner)
    assert classify(made).kind == "quota_exhausted"
    assert retry_word(classify(made)) is False


def test_a_prompt_that_is_too_long_is_not_sent_again():
    """A context overflow is no bad luck (mindsdb/anton#284)."""
    body = {
        "error": {
            "message": "This model's maximum context length is 4096 tokens",
            "code": "context_length_exceeded",
        }
    }
    error = classify_response(400, {}, body)
    assert error.reason == "context_overflow"
    assert retry_word(error) is False


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "Mon, 04 May 2026 12:00:45 GMT"}, 45.0),
        ({"retry-after": "Mon, 04 May 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"retry-after": "7"}, 7.0),
    ],
)
def test_every_way_to_say_how_long_is_read(headers, wait_s):
    """Dates, seconds and milliseconds are waits, a date that is over is none (supabase/supabase-js#2634)."""
    error = classify_response(429, headers, {}, now=NOW)
    assert error.retry_after_s == pytest.approx(wait_s)


@pytest.mark.parametrize(("status", "says", "wanted"), [(503, "false", False), (409, "true", True)])
def test_a_plain_yes_or_no_about_retrying_is_obeyed(status, says, wanted):
    """`x-should-retry` goes before what the status suggests (Azure/azure-sdk-for-python#9092)."""
    assert retry_word(classify_response(status, {"x-should-retry": says}, {}, now=NOW)) is wanted


def test_an_error_object_in_a_good_answer_is_an_error():
    """A 200 of a model's API with an error inside is that error (BerriAI/litellm#8448)."""
    error = classify_response(
        200, {"content-type": "application/json"}, {"error": {"code": 429, "message": "later"}}
    )
    assert error.kind == "rate_limited"
    assert classify_response(200, {}, {"choices": [{"message": {"content": "error"}}]}) is None


def test_a_cdn_page_is_not_shown():
    """A status between 520 and 524 is a failing upstream, and its page stays away (letta-ai/letta-code#1179)."""
    page = "<!doctype html><title>522: timed out</title><p>Ray ID: 7abc0123deadbeef, your IP: 198.51.100.7"
    error = classify_response(522, {"content-type": "text/html"}, page)
    assert error.kind in ("unavailable", "timeout")
    assert retry_word(error) is True
    assert not any(word in told(error) for word in ("doctype", "7abc0123deadbeef", "198.51.100.7"))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, {"message": "You have triggered a secondary rate limit"}),
        ({"Retry-After": "30"}, {"message": "Forbidden"}),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1777896060"}, {}),
    ],
)
def test_a_403_that_is_a_rate_limit_blames_no_token(headers, body):
    """Three signs of a limit behind 403 (hub4j/github-api#2009)."""
    error = classify_response(403, headers, body, now=NOW)
    assert error.kind == "rate_limited"
    assert "permission" not in told(error).lower()


def test_a_bad_certificate_is_permanent_and_a_broken_handshake_is_not():
    """The verdict about a certificate hides inside of a connection error (NousResearch/hermes-agent#57992)."""
    httpx = pytest.importorskip("httpx")
    bad = httpx.ConnectError(
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    )
    bad.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")
    assert classify(bad).reason == "certificate_invalid"
    assert retry_word(classify(bad)) is False
    assert "certificate" in told(classify(bad))
    hiccup = httpx.ConnectError("EOF occurred")
    hiccup.__cause__ = ssl.SSLEOFError(8, "EOF occurred in violation of protocol")
    assert classify(hiccup).kind == "network"
    assert retry_word(classify(hiccup)) is True


def test_a_wrapper_is_looked_through():
    """What a retry library, an ORM or an HTTP library wraps decides (dbos-inc/dbos-transact-py#679)."""
    tenacity = pytest.importorskip("tenacity")
    sqlalchemy = pytest.importorskip("sqlalchemy.exc")
    future = tenacity.Future(1)
    future.set_exception(ConnectionResetError(104, "reset"))
    retried = classify(tenacity.RetryError(future))
    assert retried.kind == "network"
    assert "Future" not in told(retried)
    locked = classify(
        sqlalchemy.OperationalError("DELETE FROM t", {}, sqlite3.OperationalError("database is locked"))
    )
    assert retry_word(locked) is True
    assert "DELETE" not in told(locked)
    unknown = OSError("could not connect")
    unknown.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert retry_word(classify(unknown)) is True


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_a_timeout_without_a_text_is_a_timeout(library):
    """An empty message says nothing, the type does, in either HTTP library (encode/httpx#2620)."""
    error = classify(pytest.importorskip(library).ReadTimeout(""))
    assert error.kind == "timeout"
    assert retry_word(error) == "if_idempotent"


def test_a_group_is_plumbing():
    """The leaf decides, cancelled siblings do not (IBM/mcp-context-forge#1902)."""
    inner = ExceptionGroup("tasks", [ConnectionRefusedError(111, "refused")])
    error = classify(BaseExceptionGroup("tasks", [asyncio.CancelledError(), inner]))
    assert (error.kind, retry_word(error)) == ("network", True)
    assert "sub-exception" not in told(error)


def test_a_lost_session_and_a_timeout_of_mcp_are_two_things():
    """A dead session wants a new handshake, a timeout wants a careful look (modelcontextprotocol/python-sdk#1821)."""
    mcp = pytest.importorskip("mcp")
    lost = classify(mcp.MCPError(32600, "Session terminated"))
    assert lost.context["needs_reconnect"] is True
    assert retry_word(lost) is True
    late = classify(mcp.MCPError(-32001, "Request timed out"))
    assert (late.kind, retry_word(late)) == ("timeout", "if_idempotent")
    wrong = classify(mcp.MCPError(-32602, "Input validation error: 'rows' is a required property"))
    assert wrong.kind == "invalid_argument"
    assert "rows" in told(wrong)


@pytest.mark.parametrize(
    ("per", "kind", "wait_s"), [("Minute", "rate_limited", 12.5), ("Day", "quota_exhausted", None)]
)
def test_a_daily_quota_goes_before_the_short_wait_beside_it(per, kind, wait_s):
    """The wait stands in the body, and means nothing for a day's quota (googleapis/python-genai#2114)."""
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": f"TokensPer{per}-Free"}],
        },
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"},
    ]
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x", "details": details}}
    error = classify_response(429, {}, json.dumps(body))
    assert error.kind == kind
    if wait_s is not None:
        assert error.retry_after_s == wait_s


@pytest.mark.parametrize(
    ("method", "status", "wanted"),
    [
        ("POST", 504, "if_idempotent"),
        ("DELETE", 504, True),
        ("POST", 503, "if_idempotent"),
        ("POST", 429, True),
        ("GET", 425, True),
        ("GET", 501, False),
        ("GET", 410, False),
    ],
)
def test_the_method_decides_with_the_status(method, status, wanted):
    """A gateway's time-out of a POST may still be at work, a 429 never began (apache/httpcomponents-client#708)."""
    assert retry_word(classify_response(status, {}, "", method=method)) == wanted


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (
            "no route to mysql://root:Spring-8801@db3.lan.internal:3306/shop",
            ["Spring-8801", "db3.lan.internal"],
        ),
        ("key sk-ant-api03-FAKE0123456789FAKE0123456789 was refused", ["sk-ant-api03"]),
        ("cannot read /Users/erika/work/secrets.yaml", ["erika"]),
        (
            'Traceback (most recent call last):\n  File "/opt/a/lib.py", line 3, in f\nKeyError: 1',
            ["Traceback", "/opt/a"],
        ),
        ("connection to 10.9.8.7:5432 refused for user reader", ["10.9.8.7"]),
    ],
)
def test_nothing_private_reaches_the_model(text, hidden):
    """Secrets, hosts, homes and stacks stay out of what the model reads (modelcontextprotocol/python-sdk#2198)."""
    shown = told(classify(RuntimeError(text)))
    assert not [word for word in hidden if word in shown]
