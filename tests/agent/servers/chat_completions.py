"""Chat Completions: `POST /v1/chat/completions`, validated by the SDK's own types and by pairing and order."""

from __future__ import annotations

import json
import re
from typing import Any

from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from pydantic import TypeAdapter, ValidationError

from tests.agent.servers.base import Line, ModelServer, Refused, sse, want

_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
_TOOL: TypeAdapter[Any] = TypeAdapter(ChatCompletionToolUnionParam)
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_FINISH = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "pause": "stop",
}
_KEYS = {
    "assistant": {"role", "content", "tool_calls", "refusal", "name", "audio", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
    "user": {"role", "content", "name"},
    "system": {"role", "content", "name"},
}


class ChatServer(ModelServer):
    """Speaks Chat Completions; `strict_json` also parses the arguments in the history, as some endpoints do."""

    path = "/v1/chat/completions"
    strict_json = True

    def check(self, body: dict[str, Any]) -> None:
        """Types first, then pairing, order and ids."""
        want(body.get("model") and body.get("messages"), "model and messages are required")
        for tool in body.get("tools", ()):
            _typed(_TOOL, tool, "tools")
            want(_NAME.match(tool["function"]["name"]), f"tools: name {tool['function']['name']!r}")
            want(tool["function"]["parameters"]["type"] == "object", "tools: parameters.type must be object")
        want("tool_choice" not in body or body.get("tools"), "tool_choice needs tools")
        waiting: list[str] = []
        for number, message in enumerate(body["messages"]):
            waiting = self._check_message(number, message, waiting)
        want(not waiting, f"tool_call_ids did not have response messages: {waiting}")

    def _check_message(self, number: int, message: dict[str, Any], waiting: list[str]) -> list[str]:
        role = message.get("role")
        want(role in _KEYS and set(message) <= _KEYS[role], f"messages[{number}]: {set(message)}")
        _typed(_MESSAGE, message, f"messages[{number}]")
        if role == "tool":
            want(
                waiting and message["tool_call_id"] == waiting[0],
                f"messages[{number}]: expected {waiting[:1]}",
            )
            want(isinstance(message["content"], str | list), f"messages[{number}]: content")
            return waiting[1:]
        want(not waiting, f"messages[{number}]: no response for {waiting}")
        calls = message.get("tool_calls")
        want(calls is None or calls, f"messages[{number}]: tool_calls is empty")
        want(calls or message.get("content"), f"messages[{number}]: content is required")
        for call in calls or ():
            want(call.get("type") == "function", f"messages[{number}]: tool call type")
            want(
                _NAME.match(call["function"]["name"]),
                f"messages[{number}]: name {call['function']['name']!r}",
            )
            if self.strict_json:
                _json_object(call["function"]["arguments"])
        ids = [call["id"] for call in calls or ()]
        want(len(set(ids)) == len(ids) and all(ids), f"messages[{number}]: ids {ids}")
        return ids

    def answer(self, body: dict[str, Any], line: Line) -> dict[str, Any]:
        """A `ChatCompletion`."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": line.text or None,
            "refusal": None,
            "annotations": [],
        }
        for extra in line.extra:
            message |= extra
        if line.calls:
            message["tool_calls"] = [
                {
                    "id": given[0] if given else self.next_id("call"),
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                    },
                }
                for name, arguments, *given in line.calls
            ]
        return {
            "id": self.next_id("chatcmpl"),
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": message, "finish_reason": _FINISH[line.why], "logprobs": None}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }

    def events(self, body: dict[str, Any], line: Line) -> list[str]:
        """The completion as chunks."""
        whole = self.answer(body, line)
        message, finish = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
        head = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

        def chunk(delta: dict[str, Any], why: str | None = None) -> str:
            return sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]})

        events = [chunk({"role": "assistant", "content": ""})]
        text = message["content"] or ""
        events += [chunk({"content": part}) for part in (text[:2], text[2:]) if part]
        for index, call in enumerate(message.get("tool_calls", ())):
            arguments = call["function"]["arguments"]
            first = {
                **call,
                "index": index,
                "function": {"name": call["function"]["name"], "arguments": arguments[:2]},
            }
            events.append(chunk({"tool_calls": [first]}))
            events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": arguments[2:]}}]}))
        events.append(chunk({}, finish))
        events.append(sse({**head, "choices": [], "usage": whole["usage"]}))
        events.append(sse("[DONE]"))
        return events

    def stream_error(self) -> str:
        """An overload after the stream began."""
        return sse(self.error(503, "The server is overloaded"))

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The API's error body."""
        code = {429: "rate_limit_exceeded", 401: "invalid_api_key"}.get(status)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _typed(adapter: TypeAdapter[Any], value: Any, where: str) -> None:
    try:
        adapter.validate_python(value)
    except ValidationError as exc:
        raise Refused(f"{where}: {exc.errors()[0]}") from exc


def _json_object(text: str) -> None:
    try:
        want(isinstance(json.loads(text), dict), "arguments must be an object")
    except ValueError as exc:
        raise Refused(f"arguments are no JSON: {text!r}") from exc
