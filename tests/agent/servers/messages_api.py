"""The Messages API: `POST /v1/messages`, validated by the SDK's own types and by the rules that types cannot say."""

from __future__ import annotations

import re
from typing import Any

from tests.agent.servers.base import Line, ModelServer, sse, want

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_STOPS = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
    "context": "model_context_window_exceeded",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class MessagesServer(ModelServer):
    """Speaks the Messages API."""

    path = "/v1/messages"

    def check(self, body: dict[str, Any]) -> None:
        """Types first, then pairing, order and ids."""
        for field in ("model", "max_tokens", "messages"):
            want(field in body, f"{field}: field required")
        want(body["messages"], "messages: at least one message is required")
        tools = {tool["name"] for tool in body.get("tools", ())}
        for tool in body.get("tools", ()):
            want(_NAME.match(tool["name"]), f"tools: name {tool['name']!r}")
            want(
                tool.get("input_schema", {}).get("type") == "object",
                "tools: input_schema.type must be object",
            )
        want(len(tools) == len(body.get("tools", ())), "tools: names must be unique")
        want("tool_choice" not in body or tools, "tool_choice may only be specified while providing tools")
        asked: list[str] = []
        before = ""
        for number, message in enumerate(body["messages"]):
            asked = self._check_message(number, message, asked, before)
            before = message["role"]
        want(not asked, f"tool_use ids were found without tool_result blocks: {asked}")

    def _check_message(
        self, number: int, message: dict[str, Any], asked: list[str], before: str
    ) -> list[str]:
        role, content = message.get("role"), message.get("content")
        want(set(message) == {"role", "content"}, f"messages.{number}: extra inputs {set(message)}")
        want(role in ("user", "assistant"), f"messages.{number}.role: {role!r}")
        want(number or role == "user", "messages: first message must use the user role")
        want(role != before, f"messages.{number}: roles must alternate")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        want(blocks, f"messages.{number}: content must be non-empty")
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        kinds = [block["type"] for block in blocks]
        want(results == asked, f"messages.{number}: tool_result {results} for tool_use {asked}")
        want(
            all(k == "tool_result" for k in kinds[: len(results)]),
            f"messages.{number}: results must come first",
        )
        for block in blocks:
            self._check_block(number, role, block)
        ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        want(len(set(ids)) == len(ids), f"messages.{number}: `tool_use` ids must be unique")
        return ids

    def _check_block(self, number: int, role: str, block: dict[str, Any]) -> None:
        kind = block["type"]
        if kind == "text":
            want(block["text"].strip(), f"messages.{number}: text content blocks must be non-empty")
        elif kind == "tool_use":
            want(role == "assistant", f"messages.{number}: tool_use outside of an assistant message")
            want(_ID.match(block["id"]), f"messages.{number}: tool_use.id {block['id']!r}")
            want(_NAME.match(block["name"]), f"messages.{number}: tool_use.name {block['name']!r}")
            want(isinstance(block["input"], dict), f"messages.{number}: tool_use.input must be an object")
        elif kind == "tool_result":
            want(role == "user", f"messages.{number}: tool_result outside of a user message")
            want(
                set(block) <= {"type", "tool_use_id", "content", "is_error", "cache_control"},
                f"extra in {block}",
            )
            want(block.get("content") or not block.get("is_error"), "tool_result: is_error needs content")
        elif kind == "thinking":
            want(
                block.get("signature") == "sig-" + str(len(block["thinking"])),
                "thinking: signature is invalid",
            )

    def answer(self, body: dict[str, Any], line: Line) -> dict[str, Any]:
        """A `Message`."""
        content: list[dict[str, Any]] = [dict(block) for block in line.extra]
        if line.text:
            content.append({"type": "text", "text": line.text})
        for name, arguments, *given in line.calls:
            use_id = given[0] if given else self.next_id("toolu")
            content.append({"type": "tool_use", "id": use_id, "name": name, "input": arguments})
        return {
            "id": self.next_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": _STOPS[line.why],
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def events(self, body: dict[str, Any], line: Line) -> list[str]:
        """The message as a stream."""
        import json

        message = self.answer(body, line)
        start = {**message, "content": [], "stop_reason": None}
        events = [sse({"type": "message_start", "message": start}, "message_start")]
        for index, block in enumerate(message["content"]):
            kind = block["type"]
            opened, deltas = dict(block), []
            if kind == "text":
                opened["text"] = ""
                text = block["text"]
                half = len(text) // 2
                deltas = [{"type": "text_delta", "text": part} for part in (text[:half], text[half:]) if part]
            elif kind == "tool_use":
                opened["input"] = {}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in (text[:3], text[3:])]
            elif kind == "thinking":
                opened |= {"thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
            events.append(
                sse(
                    {"type": "content_block_start", "index": index, "content_block": opened},
                    "content_block_start",
                )
            )
            events += [
                sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
                for delta in deltas
            ]
            events.append(sse({"type": "content_block_stop", "index": index}, "content_block_stop"))
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events.append(
            sse({"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}, "message_delta")
        )
        events.append(sse({"type": "message_stop"}, "message_stop"))
        return events

    def stream_error(self) -> str:
        """An overload after the stream began."""
        return sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")

    def error(self, status: int, message: str) -> dict[str, Any]:
        """The API's error body."""
        return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}
