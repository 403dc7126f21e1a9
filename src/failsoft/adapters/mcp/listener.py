"""Clients over streamable HTTP on this machine: a session and a server for each, and one for all that have no sessions.

Only the loopback address is bound, a bearer token is asked for, and `Host` and `Origin` must name this machine: a page in
a browser must not be able to talk to a server that was started for somebody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import signal
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from failsoft.adapters.mcp import inbound, wire
from failsoft.adapters.mcp.events import event
from failsoft.adapters.mcp.headers import VERSION
from failsoft.adapters.mcp.port import Port
from failsoft.core.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request

    from failsoft.adapters.mcp.port import Stream
    from failsoft.adapters.mcp.session import ClientSide
    from failsoft.adapters.mcp.wire import Message

__all__ = ["PATH", "Listener", "listen"]

log = logging.getLogger("failsoft.mcp")

PATH: Final = "/mcp"
_SESSION: Final = "mcp-session-id"
_LAST_EVENT: Final = "last-event-id"
# From this revision on clients understand an event without data.
_PRIMED: Final = "2025-11-25"
_RETRY_MS: Final = 500
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_MAX_SESSIONS: Final = 100
_FORGOTTEN_S: Final = 3600.0
_KEEP_ALIVE_S: Final = 15.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Listener:
    """See the module.

    Args:
        make_front: Makes what serves one client: it has `start`, `from_client` and `aclose`.
        token: What clients must send as `Authorization: Bearer ...`; None asks for nothing.
    """

    def __init__(self, make_front: Callable[[ClientSide], Any], *, token: str | None) -> None:
        self._make_front, self._token = make_front, token
        self._ports: dict[str, Port] = {}
        self._stateless: dict[bool, Port] = {}
        self._starting = asyncio.Lock()
        self.app = Starlette(routes=[Route(PATH, self._serve, methods=["POST", "GET", "DELETE"])])

    # ---- who may come in ----

    def _refusal(self, request: Request) -> Response | None:
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        origin = request.headers.get("origin")
        if host not in _LOOPBACK or (origin and urlsplit(origin).hostname not in _LOOPBACK):
            return _error(403, wire.INVALID_REQUEST, "this server is for this machine only")
        given = request.headers.get("authorization", "")
        if self._token is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {self._token}".encode()
        ):
            return _error(
                401, wire.INVALID_REQUEST, "a bearer token is needed", {"www-authenticate": "Bearer"}
            )
        return None

    async def _serve(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        if request.method == "POST":
            return await self._post(request)
        if inbound.is_modern(None, request.headers):
            return Response(status_code=405, headers={"allow": "POST"})
        port = self._ports.get(request.headers.get(_SESSION, ""))
        if port is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such session")
        if request.method == "DELETE":
            await self._close(port)
            return Response(status_code=204)
        last_id = request.headers.get(_LAST_EVENT)
        if last_id is None:
            return self._streamed(_Reading(port.listen(), port))
        found = port.find(last_id)
        if found is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such event any more")
        return self._streamed(_Reading(found[0], port, after=found[1]))

    # ---- messages ----

    async def _post(self, request: Request) -> Response:
        try:
            message = wire.parse(await request.body())
        except ValueError:
            return _error(400, wire.PARSE_ERROR, "this is not JSON")
        if not isinstance(message, dict):
            return _error(400, wire.INVALID_REQUEST, "a message is an object")
        modern = inbound.is_modern(message, request.headers)
        is_request = isinstance(message.get("method"), str) and wire.is_id(message.get("id"))
        if modern and not is_request:  # this revision knows nothing else that a client sends
            return Response(status_code=202)
        refusal = inbound.refusal(message, request.headers) if modern else None
        if refusal is not None:
            return _answer(refusal)
        try:
            port = await self._port_for(request, message, modern=modern)
        except AgentError as exc:
            return _error(502, wire.INTERNAL_ERROR, str(exc))
        if port is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such session")
        if not is_request:
            port.front.from_client(wire.encode(message).rstrip())
            return Response(status_code=202)
        refusal = await inbound.param_refusal(port.front, message, request.headers) if modern else None
        if refusal is not None:
            return _answer(refusal)
        return await self._request(request, message, port, modern=modern)

    async def _request(self, request: Request, message: Message, port: Port, *, modern: bool) -> Response:
        """Hand a request on; its answer at once, or a stream where there is more to tell before it."""
        accepts = "text/event-stream" in request.headers.get("accept", "")
        primed = not modern and accepts and request.headers.get(VERSION, "") >= _PRIMED
        reading = _Reading(port.request(message), port, primed=primed)
        if primed:
            return self._streamed(reading)
        try:
            async with asyncio.timeout(_KEEP_ALIVE_S if accepts else None):
                first = await reading.next()
        except TimeoutError:
            return self._streamed(reading)
        except asyncio.CancelledError:
            reading.end()
            raise
        if first is not None and reading.stream.is_over and (modern or not accepts):
            reading.end()
            return Response(
                first.rstrip(),
                reading.stream.status if modern else 200,
                media_type="application/json",
                headers=reading.headers,
            )
        return self._streamed(reading, first)

    async def _port_for(self, request: Request, message: Message, *, modern: bool) -> Port | None:
        """The client's port; a new one for a handshake, a common one for requests that need none."""
        id = request.headers.get(_SESSION)
        if id is not None and not modern:
            known = self._ports.get(id)
            if known is not None:
                known.used_at = asyncio.get_running_loop().time()
            return known
        if message.get("method") == "initialize":
            await self._close_forgotten()
            port = await self._open(stateless=False)
            self._ports[port.id] = port
            return port
        async with self._starting:
            # A server takes its first request for the word on which revision is spoken: one for each kind.
            if modern not in self._stateless:
                self._stateless[modern] = await self._open(stateless=True)
        return self._stateless[modern]

    async def _open(self, *, stateless: bool) -> Port:
        port = Port(secrets.token_urlsafe(24), stateless=stateless)
        port.front = self._make_front(port)
        try:
            await port.front.start()
        except BaseException:
            await port.front.aclose()
            raise
        return port

    def _streamed(self, reading: _Reading, first: bytes | None = None) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            line = first
            try:
                if reading.primed:
                    yield reading.priming()
                while True:
                    if line is not None:
                        yield reading.event(line)
                        if reading.stream.is_over:
                            return
                    try:
                        async with asyncio.timeout(_KEEP_ALIVE_S):
                            line = await reading.next()
                    except TimeoutError:
                        line = None
                        yield b": still here\n\n"
                        continue
                    if line is None:
                        return
            finally:
                reading.end()

        return StreamingResponse(body(), media_type="text/event-stream", headers=reading.headers)

    # ---- ending ----

    async def _close(self, port: Port) -> None:
        self._ports.pop(port.id, None)
        await port.front.aclose()

    async def _close_forgotten(self) -> None:
        """End sessions that nobody has used for long, and the oldest where there are too many."""
        long_ago = asyncio.get_running_loop().time() - _FORGOTTEN_S
        idle = [port for port in self._ports.values() if port.used_at < long_ago and not port.is_open]
        if len(self._ports) - len(idle) >= _MAX_SESSIONS:
            idle.append(min(self._ports.values(), key=lambda port: port.used_at))
        for port in idle:
            await self._close(port)

    async def aclose(self) -> None:
        """End all sessions and their servers."""
        ports = [*self._ports.values(), *self._stateless.values()]
        self._ports, self._stateless = {}, {}
        await asyncio.gather(*(port.front.aclose() for port in ports), return_exceptions=True)


class _Reading:
    """One response that reads a stream: from the request itself, or from where a client comes back to it.

    Args:
        stream: What is read.
        port: Whose it is.
        after: How many messages the client has seen; None for all that nobody has read.
        primed: Whether the client is told at once where to come back to.
    """

    def __init__(self, stream: Stream, port: Port, *, after: int | None = None, primed: bool = False) -> None:
        self.stream, self.primed, self._port = stream, primed, port
        self._reader = stream.read(after)

    @property
    def headers(self) -> dict[str, str]:
        """Of the response."""
        return {} if self._port.stateless else {_SESSION: self._port.id}

    async def next(self) -> bytes | None:
        """The next message; None at the end."""
        return await self.stream.next(self._reader, keep=not self._port.stateless)

    def event(self, line: bytes) -> bytes:
        """A message with its place, where a client can come back to it."""
        if self._port.stateless:
            return event(line)
        return self._place() + event(line)

    def priming(self) -> bytes:
        """An event that says nothing but where the stream begins, and when to come back."""
        return self._place() + b"retry: %d\ndata: \n\n" % _RETRY_MS

    def _place(self) -> bytes:
        return b"id: %d-%d\n" % (self.stream.number, self.stream.sent)

    def end(self) -> None:
        """The response has ended, or its client has left."""
        self.stream.leave(self._reader)
        if self.stream.is_over:
            self._port.close(self.stream)
        else:
            self._port.abandon(self.stream)


def _answer(message: Message) -> JSONResponse:
    return JSONResponse(message, status_code=inbound.status_of(message))


def _error(status: int, code: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(wire.failure(None, code, text), status_code=status, headers=headers)


class _Server(uvicorn.Server):
    """Leaves signals to us: its own handling would end the process before the servers' end was seen to."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None of them."""
        yield


async def listen(make_front: Callable[[ClientSide], Any], port: int, *, token: str | None) -> None:
    """Serve clients at `http://127.0.0.1:PORT/mcp` until a signal comes.

    Args:
        make_front: As for `Listener`.
        port: Where; 0 for a free one, which is logged.
        token: As for `Listener`.
    """
    listener = Listener(make_front, token=token)
    config = uvicorn.Config(
        listener.app,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, setattr, server, "should_exit", True)
    try:
        await server.serve()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        await listener.aclose()
