"""A harness as an MCP server: its own tools, through the same call path.

Speaks the handshake versions from 2024-11-05 to 2025-11-25, and the requests of 2026-07-28 that carry their version.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.answers import error_result, success_result
from failsoft.adapters.mcp.merging import own_info

if TYPE_CHECKING:
    from failsoft.adapters.mcp.session import ClientSide
    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.calls import Progress
    from failsoft.harness.harness import Harness

__all__ = ["HANDSHAKES", "MODERN", "Served"]

log = logging.getLogger("failsoft.mcp")

HANDSHAKES: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = ("2026-07-28",)

_CAPABILITIES: Final = {"tools": {"listChanged": False}}
# The list of a harness never changes while it lives.
_FRESH: Final = {"ttlMs": 3_600_000, "cacheScope": "private"}


class Served:
    """One client of a harness.

    Args:
        harness: Whose tools are served; it is not closed at the end.
        client: The way back to the client.
        name: What the server calls itself.
    """

    def __init__(self, harness: Harness, client: ClientSide, *, name: str | None = None) -> None:
        self.harness, self.client = harness, client
        self.name = name or harness.name
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    def from_client(self, line: bytes) -> None:
        """One line from the client, without its end."""
        for message, own_line in wire.read(line):
            if own_line:
                self._take(message)
            else:
                self._send(message)

    def _take(self, message: Message) -> None:
        method, id = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            return  # an answer: nothing is ever asked of the client
        if not wire.is_id(id):
            task = self._tasks.get(params.get("requestId")) if method == "notifications/cancelled" else None
            if task is not None:
                task.cancel()
        elif method == "tools/call" and isinstance(params.get("name"), str):
            if id in self._tasks:
                self._send(wire.failure(id, wire.INVALID_REQUEST, "a request of this id is under way"))
                return
            self._tasks[id] = task = asyncio.get_running_loop().create_task(self._call(message, params))
            task.add_done_callback(lambda done: self._ended(id, done))
        else:
            self._send({"jsonrpc": "2.0", "id": id, **self._answer(method, params, wire.is_modern(message))})

    def _answer(self, method: str, params: Message, modern: bool) -> Message:
        """`result` or `error` of a request that needs no waiting."""
        extra = {"resultType": "complete", **_FRESH} if modern else {}
        info: dict[str, Any] = {"capabilities": _CAPABILITIES, "serverInfo": own_info(self.name)}
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {"result": {"protocolVersion": asked if asked in HANDSHAKES else HANDSHAKES[-1], **info}}
        if method == "server/discover":
            spoken = [*HANDSHAKES, *MODERN]
            return {"result": {"supportedVersions": spoken, "resultType": "complete", **_FRESH, **info}}
        if method == "tools/list":
            return {"result": {"tools": self.harness.schemas("mcp"), **extra}}
        if method == "ping":
            return {"result": {}}
        if method == "tools/call":
            return {"error": {"code": wire.INVALID_PARAMS, "message": "a call names its tool"}}
        return {"error": {"code": wire.METHOD_NOT_FOUND, "message": f"there is no method {method!r}"}}

    async def _call(self, message: Message, params: Message) -> None:
        modern = wire.is_modern(message)
        meta = wire.meta_of(message)
        token = wire.progress_token(message)
        run = meta.get("failsoft/run")

        def progressed(step: Progress) -> None:
            told: dict[str, Any] = {"progressToken": token, "progress": step.done}
            if step.total is not None:
                told["total"] = step.total
            if step.message:
                told["message"] = step.message
            self._send(wire.notification("notifications/progress", told))

        result = await self.harness.call(
            params["name"],
            params.get("arguments"),
            run=run if isinstance(run, str) and run else None,
            on_progress=None if token is None else progressed,
        )
        made = success_result(result) if result.error is None else error_result(result)
        self._send(wire.response(message["id"], {**made, "resultType": "complete"} if modern else made))

    def _ended(self, id: Any, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id) is task:
            del self._tasks[id]
        if not task.cancelled() and task.exception() is not None:
            log.error("failsoft failed at a call", exc_info=task.exception())
            self._send(wire.failure(id, wire.INTERNAL_ERROR, "the server itself failed at this call"))

    def _send(self, message: Message) -> None:
        self.client.send(wire.encode(message), message)

    def client_blocked(self, blocked: bool) -> None:
        """The client does not read: it is not read either, so that answers do not pile up."""
        self.client.pause(blocked)

    async def drain(self, wait_s: float) -> None:
        """Let what is under way end by itself."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=wait_s)

    async def aclose(self) -> None:
        """Cancel what is under way and settle it."""
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
