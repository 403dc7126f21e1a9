"""The HTTP answer that an exception carries, read from the attributes that client libraries use.

Nothing is ever read from a socket: a body that has not been read yet counts as none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .headers import lower_headers
from .http import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer_of"]

_STATUS_NAMES = ("status_code", "status", "http_status", "code", "http_code", "response_code")
_BODY_NAMES = ("body", "json_body", "http_body", "data", "details", "detail", "error", "response_body")


def answer_of(exc: BaseException, method: str | None = None) -> Answer | None:
    """The answer on an exception or on its response; None where there is no status and no error body."""
    response = _get(exc, "response")
    if response is None:
        response = _get(exc, "raw_response")
    if isinstance(response, dict) and "ResponseMetadata" in response:
        return _of_aws(response, method)
    status = _get(response, "status_code")
    if not isinstance(status, int) or not 300 <= status < 600:
        status = _status(exc)
        if response is not None and (status is None or not 300 <= status < 600):
            status = _status(response) or status
    body = _body_of(exc, response)
    if status is None and not isinstance(body, dict):
        return None
    if body is None:
        body = _get(exc, "message") if isinstance(_get(exc, "message"), str) else None
    headers = _get(response, "headers") or _get(exc, "headers") or _get(_get(exc, "meta"), "headers")
    return Answer.of(status, headers, body, method or _method(exc, response))


def _get(thing: Any, name: str) -> Any:
    """An attribute; None where there is none or where asking for it fails (`httpx` raises for a missing request)."""
    if thing is None:
        return None
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _status(thing: Any) -> int | None:
    for name in _STATUS_NAMES:
        value = _get(thing, name)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            return int(value)
    value = _get(_get(thing, "meta"), "status")
    return value if isinstance(value, int) and 100 <= value <= 599 else None


def _body_of(exc: BaseException, response: Any) -> Any:
    for name in _BODY_NAMES:
        value = _get(exc, name)
        if isinstance(value, dict | str | bytes) and value:
            return value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return value
    error = _get(exc, "error")
    if isinstance(_get(error, "code"), str) and not isinstance(error, BaseException):
        return {"error": {"code": error.code, "message": str(_get(error, "message") or "")}}
    data = _get(response, "data")
    if isinstance(data, dict) and data:
        return data
    if isinstance(response, dict):
        return response
    # `_content` is where httpx and requests keep what has been read; asking for `.content` might read the network.
    content = _get(response, "_content")
    return content if isinstance(content, bytes | str) and content else None


def _method(exc: BaseException, response: Any) -> str | None:
    for request in (
        _get(exc, "request"),
        _get(response, "request"),
        _get(exc, "request_info"),
        _get(exc, "_request"),
    ):
        method = _get(request, "method")
        if isinstance(method, str):
            return method
    return None


def _of_aws(response: Mapping[str, Any], method: str | None) -> Answer:
    """botocore keeps its answer as a dict; the operation's method is not in it, so a write is assumed."""
    about = response.get("ResponseMetadata") or {}
    status = about.get("HTTPStatusCode")
    error = response.get("Error") or {}
    return Answer(
        status=status if isinstance(status, int) and status >= 400 else 400 if status is None else status,
        headers=lower_headers(about.get("HTTPHeaders")),
        body={"error": error},
        method=method.upper() if method else None,
    )
