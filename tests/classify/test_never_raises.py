"""Classification is the last place that may fail: whatever comes in, an error or nothing comes out."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from failsoft.classify import classify, classify_response, classify_text
from failsoft.core.errors import AgentError
from failsoft.core.kinds import ErrorKind

_NAMES = st.sampled_from(
    ["error", "errors", "message", "code", "type", "status", "detail", "details", "reason", "field", "loc", "msg",
     "violations", "quotaId", "choices", "extensions", "jsonrpc", "__type", "Error", "Code", "data", "ok", "retryDelay"]
)  # fmt: skip
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["insufficient_quota", "RESOURCE_EXHAUSTED", "429", "ratelimited", "Session terminated", "prompt is too long"])
)  # fmt: skip
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=15,
)
_ATTRIBUTES = st.dictionaries(
    st.sampled_from(["status_code", "status", "code", "response", "body", "headers", "message", "error", "errors",
                     "retry_after", "orig", "reason", "request", "last_attempt", "data", "meta"]),
    _JSON,
    max_size=5,
)  # fmt: skip


def _is_whole(error: AgentError) -> None:
    assert error.kind in set(ErrorKind)
    assert error.message
    assert "\n" not in error.message
    assert len(error.message) < 600
    assert error.retry_after_s is None or error.retry_after_s >= 0


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=999), _JSON, st.sampled_from([None, "GET", "POST", "put", "?"]))
def test_any_answer(status: int, body: Any, method: str | None) -> None:
    """Any status with any body gives a whole error or none; from 400 on always an error."""
    error = classify_response(status, {}, body, method=method)
    assert error is not None or status < 400
    if error is not None:
        _is_whole(error)


@settings(deadline=None)
@given(
    st.sampled_from([Exception, RuntimeError, ValueError, OSError, ConnectionError, KeyError]),
    st.text(max_size=80),
    _ATTRIBUTES,
)
def test_any_exception(base: type[Exception], text: str, attributes: dict[str, Any]) -> None:
    """An exception with any text and any attributes gives a whole error."""
    exc = type("Odd", (base,), {"__module__": "odd", **attributes})(text)
    error = classify(exc)
    _is_whole(error)
    assert error.__cause__ is exc


@settings(deadline=None)
@given(st.text(max_size=200) | _JSON.map(str))
def test_any_text(text: str) -> None:
    """Any pasted text gives a whole error or none."""
    error = classify_text(text)
    if error is not None:
        _is_whole(error)


@settings(deadline=None)
@given(
    st.sampled_from(["httpx.ReadTimeout", "mcp.MCPError", "botocore.ClientError", "grpc.RpcError", "redis.ConnectionError",
                     "psycopg.OperationalError", "pymysql.OperationalError", "smtplib.SMTPResponseException",
                     "slack_sdk.SlackApiError", "pydantic_core.ValidationError", "openai.APIStatusError", "pymongo.OperationFailure"]),
    st.text(max_size=60),
    _ATTRIBUTES,
)  # fmt: skip
def test_known_names_with_odd_insides(name: str, text: str, attributes: dict[str, Any]) -> None:
    """A type that only has a known name, and none of what its library would put in it, is judged all the same."""
    module, _, cls = name.rpartition(".")
    _is_whole(classify(type(cls, (Exception,), {"__module__": module, **attributes})(text)))
