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

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.events import event
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
        self._stateless: Port | None = None
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
        port = self._ports.get(request.headers.get(_SESSION, ""))
        if port is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such session")
        if request.method == "DELETE":
            await self._close(port)
            return Response(status_code=204)
        return self._streamed(port.listen(), port)

    # ---- messages ----

    async def _post(self, request: Request) -> Response:
        try:
            message = wire.parse(await request.body())
        except ValueError:
            return _error(400, wire.PARSE_ERROR, "this is not JSON")
        if not isinstance(message, dict):
            return _error(400, wire.INVALID_REQUEST, "a message is an object")
        try:
            port = await self._port_for(request, message)
        except AgentError as exc:
            return _error(502, wire.INTERNAL_ERROR, str(exc))
        if port is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such session")
        if not isinstance(message.get("method"), str) or not wire.is_id(message.get("id")):
            port.front.from_client(wire.encode(message).rstrip())
            return Response(status_code=202)
        stream = port.request(message)
        headers = {} if port.stateless else {_SESSION: port.id}
        try:
            first = await stream.next()
        except asyncio.CancelledError:
            port.abandon(stream)
            raise
        if stream.is_answer(first) and "text/event-stream" not in request.headers.get("accept", ""):
            port.close(stream)
            return Response(first.rstrip(), media_type="application/json", headers=headers)
        return self._streamed(stream, port, first, headers)

    async def _port_for(self, request: Request, message: Message) -> Port | None:
        """The client's port; a new one for a handshake, a common one for requests that carry their version."""
        id = request.headers.get(_SESSION)
        if id is not None:
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
            if self._stateless is None:
                self._stateless = await self._open(stateless=True)
        return self._stateless

    async def _open(self, *, stateless: bool) -> Port:
        port = Port(secrets.token_urlsafe(24), stateless=stateless)
        port.front = self._make_front(port)
        try:
            await port.front.start()
        except BaseException:
            await port.front.aclose()
            raise
        return port

    def _streamed(
        self, stream: Stream, port: Port, first: bytes | None = None, headers: dict[str, str] | None = None
    ) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            ended = first is not None and stream.is_answer(first)
            try:
                if first is not None:
                    yield event(first)
                while not ended:
                    try:
                        async with asyncio.timeout(_KEEP_ALIVE_S):
                            line = await stream.next()
                    except TimeoutError:
                        yield b": still here\n\n"
                        continue
                    ended = stream.is_answer(line)
                    yield event(line)
            finally:
                if ended:
                    port.close(stream)
                else:
                    port.abandon(stream)

        return StreamingResponse(body(), media_type="text/event-stream", headers=headers)

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
        ports = [*self._ports.values(), *([] if self._stateless is None else [self._stateless])]
        self._ports, self._stateless = {}, None
        await asyncio.gather(*(port.front.aclose() for port in ports), return_exceptions=True)


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
