"""Chat Completions: what is sent, and what comes back as a turn. Knows no SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from failsoft.agent.clients._sdk import cut_answer, unreadable_answer
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from
from failsoft.tools.names import safe_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from failsoft.core.calls import ToolCall
    from failsoft.core.turns import ModelRequest

__all__ = ["gathered", "parameters_of", "turn_of"]

_ENDS = {
    "stop": TurnEnd.FINISHED,
    "tool_calls": TurnEnd.CALLS,
    "function_call": TurnEnd.CALLS,
    "length": TurnEnd.TRUNCATED,
    "content_filter": TurnEnd.REFUSED,
}
# Only ever written by the provider; it does not take them back.
_OUTPUT_ONLY = ("annotations",)


def parameters_of(request: ModelRequest, *, readable_arguments: bool) -> dict[str, Any]:
    """The parameters of `chat.completions.create` that follow from a request.

    Args:
        request: The request.
        readable_arguments: Whether arguments in the history that are no JSON are wrapped: some compatible endpoints
            parse them again and refuse the whole request.
    """
    messages = [_readable(m) for m in request.messages] if readable_arguments else list(request.messages)
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    made: dict[str, Any] = {"messages": messages}
    if request.tools:
        made["tools"] = request.tools
        if request.withhold_tools:
            made["tool_choice"] = "none"
    return made


def turn_of(completion: Mapping[str, Any]) -> ModelTurn:
    """The turn in a chat completion.

    Raises:
        ModelError: It has no message.
    """
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if choice is None or not isinstance(message, dict):
        raise unreadable_answer()
    message = _sendable(message)
    calls = tuple(calls_from("openai", {**choice, "message": message}))
    if calls:
        message["tool_calls"] = [
            _named(call) for call in message.get("tool_calls") or _from_old(message, calls)
        ]
    refusal = message.get("refusal") or ""
    end = _ENDS.get(str(choice.get("finish_reason")), TurnEnd.CALLS if calls else TurnEnd.FINISHED)
    return ModelTurn(
        messages=(message,),
        dialect="openai",
        text=_text(message.get("content")),
        calls=calls,
        end=TurnEnd.REFUSED if refusal else end,
        usage=_usage(completion.get("usage") or {}),
        model=str(completion.get("model", "")),
        detail=str(refusal),
        raw=completion,
    )


def _sendable(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without what is empty or only the provider's to write; everything else goes back as it came."""
    kept = {k: v for k, v in message.items() if v not in (None, []) and k not in _OUTPUT_ONLY}
    made: dict[str, Any] = {"role": "assistant", "content": message.get("content"), **kept}
    if "tool_calls" in made:
        made["tool_calls"] = [
            {"type": "function", **call} for call in made["tool_calls"] if isinstance(call, dict)
        ]
    return made


def _from_old(message: dict[str, Any], calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """The one call of an endpoint that still writes `function_call`, as it is written now: results need its id."""
    old = message.pop("function_call", None) or {}
    return [{"id": call.id, "type": "function", "function": {**old}} for call in calls]


def _named(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call whose name the API takes back: made-up names may hold anything."""
    function = call.get("function")
    name = str(function.get("name") or "") if isinstance(function, dict) else ""
    if not isinstance(function, dict) or safe_name(name) == name:
        return call
    return {**call, "function": {**function, "name": safe_name(name)}}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _readable(message: Mapping[str, Any]) -> Mapping[str, Any]:
    calls = message.get("tool_calls")
    if not calls or all(_is_object(call) for call in calls):
        return message
    return {**message, "tool_calls": [call if _is_object(call) else _wrapped(call) for call in calls]}


def _is_object(call: Mapping[str, Any]) -> bool:
    try:
        return isinstance(json.loads(call["function"]["arguments"]), dict)
    except (ValueError, TypeError, KeyError):
        return False


def _wrapped(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function") or {})
    given = function.get("arguments")
    arguments = {"unreadable_arguments": given} if given else {}
    return {**call, "function": {**function, "arguments": json.dumps(arguments, ensure_ascii=False)}}


def _usage(given: Mapping[str, Any]) -> Usage:
    cached = (given.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Usage(
        input_tokens=max(0, (given.get("prompt_tokens") or 0) - cached),
        output_tokens=given.get("completion_tokens") or 0,
        cache_read_tokens=cached,
        requests=1,
    )


async def gathered(chunks: AsyncIterator[Any], on_text: Callable[[str], object]) -> dict[str, Any]:
    """The completion that a stream of chunks amounts to.

    Raises:
        ModelError: The stream ended before the answer did.
    """
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    made: dict[str, Any] = {"choices": [{"message": message, "finish_reason": None}]}
    async for chunk in chunks:
        data = chunk.to_dict()
        made["model"] = data.get("model") or made.get("model", "")
        made["usage"] = data.get("usage") or made.get("usage")
        for choice in data.get("choices") or ():
            delta = choice.get("delta") or {}
            _join(message, calls, delta)
            if delta.get("content"):
                on_text(delta["content"])
            made["choices"][0]["finish_reason"] = (
                choice.get("finish_reason") or made["choices"][0]["finish_reason"]
            )
    if made["choices"][0]["finish_reason"] is None:
        raise cut_answer()
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return made


def _join(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: Mapping[str, Any]) -> None:
    """Add one delta: texts are joined, calls are joined by their index."""
    for key, value in delta.items():
        if key == "tool_calls":
            _join_calls(calls, value or ())
        elif key != "role" and isinstance(value, str):
            message[key] = (message.get(key) or "") + value
        elif key != "role" and value is not None:
            message[key] = value


def _join_calls(calls: dict[int, dict[str, Any]], pieces: Sequence[Mapping[str, Any]]) -> None:
    for piece in pieces:
        index = piece.get("index")
        if index is None:  # some endpoints leave it out and send each call whole
            index = len(calls)
        call = calls.setdefault(
            index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = call["id"] or piece.get("id") or ""
        function = piece.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""
