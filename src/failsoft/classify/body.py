"""What an error body says: codes, words, and whether it is an error at all.

Shapes read: Anthropic, OpenAI and compatible, Google, AWS (JSON and XML), Azure, GitHub, Stripe, Slack, Kubernetes,
Elasticsearch, JSON-RPC, GraphQL, FastAPI, RFC 9457 problem details, and server-sent events.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["BodyFacts", "parse_body", "read_body"]

_MOST_CHARS: Final = 200_000
_MOST_WORDS: Final = 4_000
_XML_CODE = re.compile(r"<Code>([\w.]{1,100})</Code>")
_XML_MESSAGE = re.compile(r"<Message>([^<]{1,500})</Message>")
_SSE_DATA = re.compile(r"^data:\s*(\{.*\})\s*$", re.M)
# A 200 whose body has nothing but these beside its `error` is an error; one with data is an answer.
_BESIDE_ERROR: Final = frozenset(
    {
        "error", "message", "status", "code", "type", "detail", "details", "request_id", "requestid", "id", "user_id",
        "error_description", "errors", "success", "ok", "timestamp", "path", "data", "result", "jsonrpc", "reason",
        "retry_after", "error_code", "statuscode", "status_code", "trace_id", "documentation_url",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts:
    """What was found in a body.

    Args:
        is_error: Whether the body says by its form that it is an error.
        codes: Machine codes, the most telling first, as sent.
        message: The service's own words.
        status: An HTTP status given inside the body.
    """

    is_error: bool = False
    codes: tuple[str, ...] = ()
    message: str = ""
    status: int | None = None


def parse_body(body: Any) -> Any:
    """The body as a mapping or list where it is JSON, as text otherwise, None where there is none."""
    if isinstance(body, bytes | bytearray | memoryview):
        body = bytes(body[:_MOST_CHARS]).decode("utf-8", "replace")
    if not isinstance(body, str):
        return body
    text = body.strip()
    if text[:1] in ("{", "["):
        try:
            return json.loads(text[:_MOST_CHARS])
        except (ValueError, RecursionError):
            return text
    return text or None


def read_body(body: Any) -> BodyFacts:
    """The facts in a parsed body."""
    if isinstance(body, str):
        return _read_text(body)
    if isinstance(body, list):
        return read_body(body[0]) if body and isinstance(body[0], dict) else BodyFacts()
    if not isinstance(body, dict):
        return BodyFacts()
    nested = _nested(body)
    parts = (nested, body) if nested is not None else (body,)
    return BodyFacts(
        is_error=_is_error(body),
        codes=tuple(dict.fromkeys(code for part in parts for code in _codes(part))),
        message=_with_fields(
            next(
                (text for part in parts[:: -1 if _lists_fields(body) else 1] if (text := _message(part))), ""
            ),
            body,
        ),
        status=next((status for part in parts if (status := _status(part))), None),
    )


def _read_text(text: str) -> BodyFacts:
    if text.startswith("<"):
        code, message = _XML_CODE.search(text), _XML_MESSAGE.search(text)
        if code:
            return BodyFacts(
                is_error=True, codes=(code.group(1),), message=message.group(1) if message else ""
            )
        return BodyFacts()
    if text.startswith(("event:", "data:", ":", "id:")):
        for found in _SSE_DATA.finditer(text):
            facts = read_body(parse_body(found.group(1)))
            if facts.is_error:
                return facts
        return BodyFacts()
    return BodyFacts(message=text[:1_000])


def _nested(body: dict[str, Any]) -> dict[str, Any] | None:
    """The mapping that holds the details: `error`, `Error`, `fault`, or the first of `errors`."""
    for name in ("error", "Error", "fault", "err"):
        inner = body.get(name)
        if isinstance(inner, dict):
            return inner
    many = body.get("errors")
    if isinstance(many, list) and many and isinstance(many[0], dict):
        return many[0]
    return _choice(body)


def _choice(body: dict[str, Any]) -> dict[str, Any] | None:
    """The error of a model's answer whose provider failed half-way, as OpenRouter reports it."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    error = first.get("error") if isinstance(first, dict) else None
    return error if isinstance(error, dict) and error else None


def _is_error(body: dict[str, Any]) -> bool:
    error = body.get("error", body.get("Error"))
    if isinstance(error, dict):
        if error.get("code") in (0, "0"):
            return False
        return any(
            error.get(name) for name in ("message", "code", "type", "Code", "Message", "reason", "status")
        )
    if isinstance(error, str) and error:
        return body.get("ok") is False or {str(name).lower() for name in body} <= _BESIDE_ERROR
    if _choice(body) is not None:
        return True
    if "__type" in body and ("message" in body or "Message" in body):
        return True
    if body.get("type") == "error" or (body.get("kind") == "Status" and body.get("status") == "Failure"):
        return True
    many = body.get("errors")
    # GraphQL: an answer without data; with data it is a partial answer, which is the caller's to judge.
    return isinstance(many, list) and bool(many) and not body.get("data") and not body.get("result") and (
        "data" in body or body.get("success") is False or body.keys() <= {"errors", "extensions"}
    )  # fmt: skip


def _codes(part: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for name in (
        "decline_code",
        "code",
        "Code",
        "__type",
        "type",
        "error_code",
        "errorCode",
        "status",
        "reason",
        "error",
    ):
        value = part.get(name)
        # Google's statuses are in capitals; other words there ("aborted", "failed") are states of the service's own.
        if name == "status" and isinstance(value, str) and not value.isupper():
            continue
        if isinstance(value, str) and 0 < len(value) <= 120 and " " not in value:
            # AWS writes `namespace#Code`, RFC 9457 a URI whose last part is the type.
            found.append(
                re.split(r"[#/]", value)[-1] if not value.startswith("http") else value.rsplit("/", 1)[-1]
            )
        elif isinstance(value, int) and not isinstance(value, bool) and (value < 0 or value > 599):
            found.append(str(value))
    many = part.get("errors")
    if (
        isinstance(many, list)
        and many
        and isinstance(many[0], dict)
        and isinstance(many[0].get("reason"), str)
    ):
        found.append(many[0]["reason"])
    extensions = part.get("extensions")
    if isinstance(extensions, dict):
        found += _codes(extensions)
    details = part.get("details")
    for detail in details[:20] if isinstance(details, list) else ():
        if isinstance(detail, dict):
            found += [
                f"quota:{one.get('quotaId')}"
                for one in detail.get("violations") or ()
                if isinstance(one, dict)
            ]
            if isinstance(detail.get("reason"), str):
                found.append(detail["reason"])
    return found


def _message(part: dict[str, Any]) -> str:
    return _whole_message(part)[:_MOST_WORDS]


def _whole_message(part: dict[str, Any]) -> str:
    for name in (
        "message",
        "Message",
        "detail",
        "error_description",
        "reason",
        "title",
        "msg",
        "description",
    ):
        value = part.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value:
            return _problems(value)
    error = part.get("error")
    return error if isinstance(error, str) else ""


def _lists_fields(body: dict[str, Any]) -> bool:
    many = body.get("errors")
    return isinstance(many, list) and any(isinstance(one, dict) and one.get("field") for one in many)


def _with_fields(message: str, body: dict[str, Any]) -> str:
    """A message and the fields that it is about, as GitHub lists them."""
    if not _lists_fields(body):
        return message
    said = [
        f"{one['field']}: {one.get('message') or one.get('code') or 'not accepted'}"
        for one in body["errors"][:5]
        if isinstance(one, dict) and one.get("field")
    ]
    return f"{message} ({'; '.join(said)})" if message else "; ".join(said)


def _problems(items: list[Any]) -> str:
    """FastAPI's list of problems in one line."""
    said = []
    for item in items[:3]:
        if isinstance(item, dict) and isinstance(item.get("msg"), str):
            where = ".".join(str(step) for step in item.get("loc") or () if step not in ("body", "query"))
            said.append(f"{where}: {item['msg']}" if where else item["msg"])
        elif isinstance(item, str):
            said.append(item)
    return "; ".join(said)


def _status(part: dict[str, Any]) -> int | None:
    for name in ("status", "code", "status_code", "statusCode", "http_status"):
        value = part.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None
