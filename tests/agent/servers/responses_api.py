"""The Responses API: `POST /v1/responses`, validated by the SDK's own types and by pairing and order."""

from __future__ import annotations

import json
import re
from typing import Any

from openai.types.responses import FunctionToolParam, ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

from tests.agent.servers.base import Line, ModelServer, Refused, sse, want

_ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam)
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_TOOL: TypeAdapter[Any] = TypeAdapter(FunctionToolParam)


class ResponsesServer(ModelServer):
    """Speaks the Responses API."""

    path = "/v1/responses"

    def check(self, body: dict[str, Any]) -> None:
        """Types first, then pairing, order and ids."""
        want(body.get("model") and body.get("input"), "model and input are required")
        for tool in body.get("tools", ()):
            _typed(_TOOL, tool, "tools")
            want(tool["parameters"]["type"] == "object", "tools: parameters.type must be object")
        waiting: list[str] = []
        for number, item in enumerate(body["input"]):
            waiting = self._check_item(number, item, waiting)
        want(not waiting, f"No tool output found for function call {waiting}")

    def _check_item(self, number: int, item: dict[str, Any], waiting: list[str]) -> list[str]:
        kind, where = item.get("type"), f"input[{number}]"
        if kind != "brand_new_item":
            _typed(_ITEM, item, where)
        want(None not in item.values(), f"{where}: null is not of the expected type")
        if kind == "function_call":
            want(_NAME.match(item["name"]), f"{where}: name {item['name']!r}")
            want(item["call_id"] and item["call_id"] not in waiting, f"{where}: call_id {item['call_id']!r}")
            return [*waiting, item["call_id"]]
        if kind == "function_call_output":
            want(
                waiting and item["call_id"] == waiting[0],
                f"{where}: no tool call found for {item['call_id']}",
            )
            want(item.get("output") is not None, f"{where}: output is required")
            return waiting[1:]
        if item.get("role") == "user":
            want(not waiting, f"{where}: no tool output found for {waiting}")
            want(item.get("content"), f"{where}: content is required")
        return waiting

    def answer(self, body: dict[str, Any], line: Line) -> dict[str, Any]:
        """A `Response`."""
        output: list[dict[str, Any]] = [dict(item) for item in line.extra]
        if line.text:
            kind = "refusal" if line.why == "refusal" else "output_text"
            part: dict[str, Any] = {"type": kind, ("refusal" if kind == "refusal" else "text"): line.text}
            if kind == "output_text":
                part["annotations"] = []
            output.append(
                {
                    "id": self.next_id("msg"),
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        cut = line.why == "length"
        for name, arguments, *given in line.calls:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            output.append(
                {
                    "id": self.next_id("fc"),
                    "type": "function_call",
                    "call_id": given[0] if given else self.next_id("call"),
                    "name": name,
                    "arguments": text,
                    "status": "incomplete" if cut else "completed",
                }
            )
        return {
            "id": self.next_id("resp"),
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 15,
            },
        }

    def events(self, body: dict[str, Any], line: Line) -> list[str]:
        """The response as events."""
        whole = self.answer(body, line)
        started = {**whole, "output": [], "status": "in_progress"}
        kinds: list[dict[str, Any]] = [{"type": "response.created", "response": started}]
        for index, item in enumerate(whole["output"]):
            kinds.append({"type": "response.output_item.added", "output_index": index, "item": item})
            if item["type"] == "message" and item["content"][0]["type"] == "output_text":
                text = item["content"][0]["text"]
                kinds += [
                    {
                        "type": "response.output_text.delta",
                        "item_id": item["id"],
                        "output_index": index,
                        "content_index": 0,
                        "delta": part,
                        "logprobs": [],
                    }
                    for part in (text[:2], text[2:])
                    if part
                ]
            kinds.append({"type": "response.output_item.done", "output_index": index, "item": item})
        kinds.append({"type": f"response.{whole['status']}", "response": whole})
        return [sse({**one, "sequence_number": n}, one["type"]) for n, one in enumerate(kinds)]

    def stream_error(self) -> str:
        """An overload after the stream began."""
        body = {"type": "error", "code": "server_error", "message": "The server is overloaded", "param": None}
        return sse({**body, "sequence_number": 99}, "error")

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The API's error body."""
        code = {429: "rate_limit_exceeded"}.get(status)
        return {"error": {"message": message, "type": "server_error", "param": None, "code": code}}


def _typed(adapter: TypeAdapter[Any], value: Any, where: str) -> None:
    try:
        adapter.validate_python(value)
    except ValidationError as exc:
        raise Refused(f"{where}: {exc.errors()[0]}") from exc
