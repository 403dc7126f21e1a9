"""A local server that speaks the Messages API over real HTTP, with the stand-in behind it; strict about what it is sent."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from failsoft.cli.demo.faults import Fault, Faults
from failsoft.cli.demo.planner import Seen, next_move

__all__ = ["ModelServer"]

# A provider fails less often than the tools do.
_SHARE_OF_CHAOS = 0.3


class ModelServer:
    """Starts and stops the server.

    Args:
        seed: Of the schedule of faults.
        chaos: Share of tool requests that meet trouble; the model's meet less.
    """

    def __init__(self, seed: int, chaos: float) -> None:
        self.faults = Faults("model", seed, chaos * _SHARE_OF_CHAOS)
        self.numbers = itertools.count(1)
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="demo-model", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join(5)
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_state: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the screen belongs to the demo."""

    def do_POST(self) -> None:
        """One request for a turn."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        fault = self.server_state.faults.next(writes=False)
        if fault is Fault.LIMITED:
            self._send(
                429, _error("rate_limit_error", "Number of requests exceeded"), {"retry-after-ms": "200"}
            )
        elif fault is not Fault.NONE:
            self._send(529, _error("overloaded_error", "Overloaded"))
        else:
            self._answer(body)

    def _answer(self, body: dict[str, Any]) -> None:
        try:
            question, history = _read(body["messages"])
        except (KeyError, ValueError) as exc:
            self._send(400, _error("invalid_request_error", str(exc)))
            return
        move = next_move(question, history)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": move.text}] if move.text else []
        for name, arguments in move.calls:
            number = next(self.server_state.numbers)
            blocks.append({"type": "tool_use", "id": f"toolu_{number:04d}", "name": name, "input": arguments})
        message = {
            "id": f"msg_{next(self.server_state.numbers):04d}",
            "type": "message",
            "role": "assistant",
            "model": str(body.get("model")),
            "content": blocks,
            "stop_reason": "tool_use" if move.calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": len(json.dumps(body)) // 4,
                "output_tokens": len(json.dumps(blocks)) // 4,
            },
        }
        self._send(200, message)

    def _send(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _read(messages: list[dict[str, Any]]) -> tuple[str, list[Seen]]:
    """The question and the calls so far.

    Raises:
        ValueError: A call without its result, as the real API refuses it.
    """
    question, history = "", []
    open_calls: dict[str, dict[str, Any]] = {}
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in blocks if block["type"] == "tool_result"]
        if {block["tool_use_id"] for block in results} != set(open_calls):
            raise ValueError("`tool_use` ids were found without `tool_result` blocks immediately after")
        for block in results:
            history.append(_seen(open_calls.pop(block["tool_use_id"]), block))
        for block in blocks:
            if block["type"] == "tool_use":
                open_calls[block["id"]] = block
            elif block["type"] == "text" and message["role"] == "user" and not question:
                question = block["text"]
    return question, history


def _seen(call: dict[str, Any], result: dict[str, Any]) -> Seen:
    content = result.get("content", "")
    if not isinstance(content, str):
        content = "\n".join(block.get("text", "") for block in content)
    return Seen(name=call["name"], input=call["input"], ok=not result.get("is_error"), content=content)
