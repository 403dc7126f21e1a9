"""The Responses API: what is sent, and what comes back as a turn. Knows no SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.agent.clients._sdk import cut_answer, unreadable_answer
from failsoft.classify import classify_response
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from
from failsoft.tools.names import safe_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from failsoft.core.turns import ModelRequest

__all__ = ["gathered", "parameters_of", "turn_of"]

_LAST = ("response.completed", "response.incomplete", "response.failed")


def parameters_of(request: ModelRequest) -> dict[str, Any]:
    """The parameters of `responses.create` that follow from a request."""
    made: dict[str, Any] = {"input": list(request.messages)}
    if request.system:
        made["instructions"] = request.system
    if request.tools:
        made["tools"] = request.tools
        if request.withhold_tools:
            made["tool_choice"] = "none"
    return made


def turn_of(response: Mapping[str, Any]) -> ModelTurn:
    """The turn in a response.

    Raises:
        AgentError: The response failed, or is none.
    """
    output = response.get("output")
    if response.get("status") == "failed" or response.get("error"):
        body = {"error": response.get("error") or {"message": "The response failed."}}
        raise classify_response(200, {}, body, method="POST") or unreadable_answer()
    if not isinstance(output, list):
        raise unreadable_answer()
    # The API takes its own items back, but not the empty fields in them.
    items = [{k: v for k, v in item.items() if v is not None} for item in output if isinstance(item, dict)]
    calls = tuple(calls_from("openai-responses", {**response, "output": items}))
    for item in items:
        if item.get("type") == "function_call":  # the API does not take back every name that a model makes up
            item["name"] = safe_name(str(item.get("name") or ""))
    text, refusal = _said(items)
    return ModelTurn(
        messages=tuple(items),
        dialect="openai-responses",
        text=text,
        calls=calls,
        end=_end(response, bool(calls), refusal),
        usage=_usage(response.get("usage") or {}),
        model=str(response.get("model", "")),
        detail=refusal,
        raw=response,
    )


def _said(items: list[dict[str, Any]]) -> tuple[str, str]:
    """The text, and the refusal, in the message items."""
    parts = [
        part
        for item in items
        if item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict)
    ]
    text = "".join(str(part.get("text", "")) for part in parts if part.get("type") == "output_text")
    return text, "".join(str(part.get("refusal", "")) for part in parts if part.get("type") == "refusal")


def _end(response: Mapping[str, Any], has_calls: bool, refusal: str) -> TurnEnd:
    reason = (response.get("incomplete_details") or {}).get("reason")
    if refusal or reason == "content_filter":
        return TurnEnd.REFUSED
    if reason == "max_output_tokens":
        return TurnEnd.TRUNCATED
    return TurnEnd.CALLS if has_calls else TurnEnd.FINISHED


def _usage(given: Mapping[str, Any]) -> Usage:
    details = given.get("input_tokens_details") or {}
    cached, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(
        input_tokens=max(0, (given.get("input_tokens") or 0) - cached - written),
        output_tokens=given.get("output_tokens") or 0,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        requests=1,
    )


async def gathered(events: AsyncIterator[Any], on_text: Callable[[str], object]) -> dict[str, Any]:
    """The response that a stream of events ends with.

    Raises:
        AgentError: The stream carries an error, or ends before the answer did.
    """
    async for event in events:
        data = event.to_dict()
        kind = data.get("type")
        if kind == "response.output_text.delta":
            on_text(str(data.get("delta", "")))
        elif kind == "error":
            raise classify_response(200, {}, {"error": data}, method="POST") or unreadable_answer()
        elif kind in _LAST:
            return dict(data.get("response") or {})
    raise cut_answer()
