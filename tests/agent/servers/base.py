"""What the three servers share: a script of lines, faults by request, and a count of everything refused."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What the stand-in for a model says: text, calls as (name, arguments), and why it stops.

    Args:
        text: Text before the calls.
        calls: Name, arguments, and optionally an id of the test's own.
        end: `end`, `calls`, `length`, `refusal`, `pause`; by default what fits.
        extra: Blocks or items that the client does not know, to be sent back untouched.
    """

    text: str = ""
    calls: tuple[tuple[Any, ...], ...] = ()
    end: str = ""
    extra: tuple[dict[str, Any], ...] = ()

    @property
    def why(self) -> str:
        """Why it stops."""
        return self.end or ("calls" if self.calls else "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with one request.

    Args:
        kind: `status`, `hang`, `cut`, `garbage`, `slow`, `stream_error`.
        status: For `status`.
        headers: Sent along.
        body: Sent along.
        delay_s: Before each piece, for `slow`.
    """

    kind: str
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    delay_s: float = 0.0


class Refused(Exception):
    """The request is not what the API takes."""


class ModelServer:
    """A model provider on loopback.

    Args:
        script: Gives a `Line` for a request's parsed body, or a list of lines to be given in order (the last again).
        faults: What goes wrong with the first, second, ... request; None for nothing.
    """

    path = "/"

    def __init__(
        self, script: Callable[[dict[str, Any]], Line] | list[Line], *, faults: Iterable[Fault | None] = ()
    ) -> None:
        self._script = script
        self._faults = iter(faults)
        self.bodies: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.requests = 0
        self.ids = 0
        self._hangs: list[asyncio.Event] = []

    async def __aenter__(self) -> ModelServer:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post(self.path, self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.origin = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for hang in self._hangs:
            hang.set()
        await self._runner.cleanup()

    def next_id(self, prefix: str) -> str:
        """A fresh id."""
        self.ids += 1
        return f"{prefix}_{self.ids:04d}"

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        fault = next(self._faults, None)
        body = await request.json()
        try:
            self.check(body)
        except Refused as exc:
            self.refused.append(str(exc))
            return web.json_response(self.error(400, str(exc)), status=400)
        if fault is not None and fault.kind == "status":
            made = fault.body if fault.body is not None else self.error(fault.status, "trouble")
            return web.json_response(made, status=fault.status, headers=dict(fault.headers))
        if fault is not None and fault.kind == "hang":
            hang = asyncio.Event()
            self._hangs.append(hang)
            await hang.wait()
            return web.Response(status=500)
        if fault is not None and fault.kind == "garbage":
            return web.Response(text="<html>Bad gateway</html> \x00{", content_type="text/html")
        line = self._line(body)
        if body.get("stream"):
            return await self._stream(request, body, line, fault)
        text = json.dumps(self.answer(body, line))
        if fault is not None and fault.kind == "cut":
            return await self._cut(request, text)
        return web.Response(text=text, content_type="application/json")

    def _line(self, body: dict[str, Any]) -> Line:
        self.bodies.append(body)
        if callable(self._script):
            return self._script(body)
        return self._script[min(len(self.bodies), len(self._script)) - 1]

    async def _cut(self, request: web.Request, text: str) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "application/json", "content-length": str(len(text))}
        )
        await response.prepare(request)
        await response.write(text[: len(text) // 2].encode())
        assert request.transport is not None
        request.transport.abort()
        return response

    async def _stream(
        self, request: web.Request, body: dict[str, Any], line: Line, fault: Fault | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        events = self.events(body, line)
        if fault is not None and fault.kind in ("cut", "stream_error"):
            events = events[: len(events) // 2]
        if fault is not None and fault.kind == "stream_error":
            events.append(self.stream_error())
        if fault is not None and fault.kind == "bad_event":
            events[1] = "data: {not json\n\n"
        for event in events:
            if fault is not None and fault.kind == "slow":
                await asyncio.sleep(fault.delay_s)
            await response.write(event.encode())
        await response.write_eof()
        return response

    # ---- what each API says ----

    def check(self, body: dict[str, Any]) -> None:
        """Raise `Refused` for what the API would refuse."""
        raise NotImplementedError

    def answer(self, body: dict[str, Any], line: Line) -> dict[str, Any]:
        """A whole response."""
        raise NotImplementedError

    def events(self, body: dict[str, Any], line: Line) -> list[str]:
        """The same as server-sent events."""
        raise NotImplementedError

    def stream_error(self) -> str:
        """An error in the middle of a stream."""
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        """An error body."""
        raise NotImplementedError


def sse(data: Any, event: str | None = None) -> str:
    """One server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


def want(condition: object, message: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise Refused(message)
