"""Clients over streamable HTTP on this machine: a session and a server for each, and one for all that have no sessions.

Only the loopback address is bound, a bearer token is asked for, and `Host` and `Origin` must name this machine: a page in
a browser must not be able to talk to a server that was started for somebody else.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import signal
import socket
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from failsoft.adapters.mcp import inbound, wire
from failsoft.adapters.mcp.carried import TRACE, Carried, carried
from failsoft.adapters.mcp.headers import SESSION, VERSION
from failsoft.adapters.mcp.port import Port
from failsoft.adapters.mcp.reading import Reading
from failsoft.adapters.mcp.relay import Relay
from failsoft.adapters.mcp.serving import Server, bound
from failsoft.core.errors import AgentError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from failsoft.adapters.mcp.session import ClientSide
    from failsoft.adapters.mcp.wire import Message

__all__ = ["PATH", "Listener", "listen"]

log = logging.getLogger("failsoft.mcp")

PATH: Final = "/mcp"
_LAST_EVENT: Final = "last-event-id"
# From this revision on clients understand an event without data.
_PRIMED: Final = "2025-11-25"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_MAX_SESSIONS: Final = 100
_MAX_STATELESS: Final = 20
_FORGOTTEN_S: Final = 3600.0
_KEEP_ALIVE_S: Final = 15.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Listener:
    """See the module.

    Args:
        make_front: Makes what serves one client: it has `start`, `from_client` and `aclose`.
        token: What clients must send as `Authorization: Bearer ...`; None asks for nothing.
        login_url: The server behind, where clients log in themselves: their `Authorization` is for that server, and
            `token` is then asked for as `Failsoft-Token`.
    """

    def __init__(
        self, make_front: Callable[[ClientSide], Any], *, token: str | None, login_url: str | None = None
    ) -> None:
        self._make_front, self._token = make_front, token
        self._ports: dict[str, Port] = {}
        self._stateless: dict[tuple[bool, str], Port] = {}
        self._starting = asyncio.Lock()
        self._relay = None if login_url is None else Relay(login_url, PATH, self._stranger)
        routes = [] if self._relay is None else self._relay.routes
        self.app = Starlette(routes=[Route(PATH, self._serve, methods=["POST", "GET", "DELETE"]), *routes])

    # ---- who may come in ----

    def _stranger(self, request: Request) -> Response | None:
        """The refusal of a page of somebody else's, and of a name that only seems to be this machine's."""
        host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        origin = request.headers.get("origin")
        if host not in _LOOPBACK or (origin and urlsplit(origin).hostname not in _LOOPBACK):
            return _error(403, wire.INVALID_REQUEST, "this server is for this machine only")
        return None

    def _refusal(self, request: Request) -> Response | None:
        stranger = self._stranger(request)
        if stranger is not None or self._token is None:
            return stranger
        if self._relay is not None:
            name, wanted, told = "failsoft-token", self._token, {}
        else:
            name, wanted, told = "authorization", f"Bearer {self._token}", {"www-authenticate": "Bearer"}
        if hmac.compare_digest(request.headers.get(name, "").encode(), wanted.encode()):
            return None
        status = 401 if told else 403
        return _error(status, wire.INVALID_REQUEST, f"the header {name.title()} has no good token", told)

    async def _serve(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        carried.set(
            Carried(
                authorization=request.headers.get("authorization") if self._relay is not None else None,
                headers={name: request.headers[name] for name in TRACE if name in request.headers},
            )
        )
        if request.method == "POST":
            return await self._post(request)
        if inbound.is_modern(None, request.headers):
            return Response(status_code=405, headers={"allow": "POST"})
        port = self._ports.get(request.headers.get(SESSION, ""))
        if port is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such session")
        if request.method == "DELETE":
            await self._close(port)
            return Response(status_code=204)
        last_id = request.headers.get(_LAST_EVENT)
        if last_id is None:
            return self._streamed(Reading(port.listen(), port))
        found = port.find(last_id)
        if found is None:
            return _error(404, wire.INVALID_REQUEST, "there is no such event any more")
        return self._streamed(Reading(found[0], port, after=found[1]))

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
        primed = (
            self._relay is None and not modern and accepts and request.headers.get(VERSION, "") >= _PRIMED
        )
        reading = Reading(port.request(message), port, primed=primed)
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
        own = carried.get()
        if own is not None and own.refusal is not None and self._relay is not None and not _is_success(first):
            reading.end()
            if message["method"] == "initialize":
                await self._close(port)
            return self._relay.answer(request, own.refusal)
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
        id = request.headers.get(SESSION)
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
            # A server takes its first request for the word on which revision is spoken: one for each kind. What one
            # person's server has answered is not for another.
            who = request.headers.get("authorization", "") if self._relay is not None else ""
            key = modern, hashlib.sha256(who.encode()).hexdigest()
            if key not in self._stateless:
                await self._close_forgotten()
                self._stateless[key] = await self._open(stateless=True)
            port = self._stateless[key]
            port.used_at = asyncio.get_running_loop().time()
        return port

    async def _open(self, *, stateless: bool) -> Port:
        port = Port(secrets.token_urlsafe(24), stateless=stateless)
        port.front = self._make_front(port)
        try:
            await port.front.start()
        except BaseException:
            await port.front.aclose()
            raise
        return port

    def _streamed(self, reading: Reading, first: bytes | None = None) -> StreamingResponse:
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
        unused = sorted((port.used_at, key) for key, port in self._stateless.items() if not port.is_open)
        for _, key in unused[: max(0, len(self._stateless) - _MAX_STATELESS + 1)]:
            await self._stateless.pop(key).front.aclose()

    async def aclose(self) -> None:
        """End all sessions and their servers."""
        ports = [*self._ports.values(), *self._stateless.values()]
        self._ports, self._stateless = {}, {}
        await asyncio.gather(*(port.front.aclose() for port in ports), return_exceptions=True)
        if self._relay is not None:
            await self._relay.aclose()


def _is_success(line: bytes | None) -> bool:
    """Whether a request was carried out: then only something that it did not need was refused."""
    result = None if line is None else wire.parse(line).get("result")
    return isinstance(result, dict) and result.get("isError") is not True


def _answer(message: Message) -> JSONResponse:
    return JSONResponse(message, status_code=inbound.status_of(message))


def _error(status: int, code: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(wire.failure(None, code, text), status_code=status, headers=headers)


async def listen(
    make_front: Callable[[ClientSide], Any],
    port: int,
    *,
    token: str | None,
    login_url: str | None = None,
    told: Callable[[str], object] = lambda url: None,
) -> None:
    """Serve clients at `http://127.0.0.1:PORT/mcp` until a signal comes.

    Args:
        make_front: As for `Listener`.
        port: Where; 0 for a free one.
        token: As for `Listener`.
        login_url: As for `Listener`.
        told: Is given the address once it can be connected to.

    Raises:
        UsageError: The port cannot be had.
    """
    sock = _bound(port)
    listener = Listener(make_front, token=token, login_url=login_url)
    server = Server(listener.app)
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, setattr, server, "should_exit", True)
    try:
        told(f"http://127.0.0.1:{sock.getsockname()[1]}{PATH}")
        await server.serve(sockets=[sock])
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        await listener.aclose()
        sock.close()


def _bound(port: int) -> socket.socket:
    try:
        return bound(port)
    except OSError as exc:
        raise UsageError(
            f"port {port} cannot be had: {exc.strerror}\n\nhint: another number, or --http 0 for a free one"
        ) from exc
