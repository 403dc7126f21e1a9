"""A server behind a URL: streamable HTTP, with the client's bytes as they came.

    one message, one POST ── answered by JSON, or by a stream of events that ends with the answer
    one GET, where the server offers it ── what it says unasked

Source of the rules: the Model Context Protocol, "Transports", revisions 2025-03-26 to 2026-07-28.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import httpx2

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.carried import Refusal, carried
from failsoft.adapters.mcp.events import Events
from failsoft.adapters.mcp.headers import SESSION, VERSION, ToolHeaders, annotated, mirrored
from failsoft.adapters.mcp.transport import about
from failsoft.adapters.mcp.troubles import broken, without_secrets
from failsoft.classify import classify_response
from failsoft.core.errors import AgentError, NetworkError, PermissionDenied, Unavailable
from failsoft.core.kinds import Effect, Owner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.adapters.mcp.transport import Receiver
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Remote"]

log = logging.getLogger("failsoft.mcp")

_CONNECT_S: Final = 10.0
_LEAVE_S: Final = 2.0
_BEFORE_S: Final = 5.0
_AGAIN_S: Final = 1.0
_TRIES: Final = 3
_BASE: Final = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
_MOVED: Final = (307, 308)
_MOST_MOVES: Final = 3


class Remote:
    """One session with a server behind a URL.

    Args:
        url: Its endpoint.
        headers: Sent with each request, such as `Authorization`.
        auth: Adds the authorization of a stored login.
        passes_authorization: Whether the client's own authorization is handed on, and the server's refusal of it back.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        auth: httpx2.Auth | None = None,
        passes_authorization: bool = False,
    ) -> None:
        self.url, self._headers, self._auth = url, dict(headers or {}), auth
        self._passes_authorization = passes_authorization
        self._authorization: str | None = None
        self._newest = 0
        self._tools = ToolHeaders()
        self._modern: str | None = None
        self._renewed = asyncio.Event()
        self._moves = 0
        self._has_said_so = False
        self._client: httpx2.AsyncClient | None = None
        self._receiver: Receiver | None = None
        self._session: str | None = None
        self._version: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._posts: dict[Any, tuple[asyncio.Task[None], bool]] = {}
        self._before: asyncio.Task[None] | None = None
        self._ended = False

    async def open(self, receiver: Receiver) -> None:
        """Nothing is connected before there is something to send."""
        self._receiver = receiver
        # A server may think for as long as a call may take: the call's own time is the limit.
        limits = httpx2.Timeout(_CONNECT_S, read=None)
        self._client = httpx2.AsyncClient(
            headers=self._headers, timeout=limits, follow_redirects=False, auth=self._auth
        )

    # ---- sending ----

    def send(self, line: bytes, message: Message) -> None:
        """Post one message.

        Raises:
            ConnectionError: The session is over.
        """
        if self._ended or self._client is None:
            raise ConnectionResetError("the session is over")
        id, method = message.get("id"), message.get("method")
        if method == "notifications/cancelled" and self._aborted(message):
            return
        task = asyncio.get_running_loop().create_task(self._post(line, message, self._before))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if method is None or id is None:
            self._before = task  # what comes after a notification is not to overtake it
        else:
            self._posts[id] = (task, wire.is_modern(message))
            task.add_done_callback(lambda _: self._posts.pop(id, None))

    def _aborted(self, message: Message) -> bool:
        """From 2026-07-28 on a request is cancelled by closing its stream, and there is no such notification."""
        params = message.get("params")
        found = self._posts.get(params.get("requestId")) if isinstance(params, dict) else None
        if found is None or not found[1]:
            return False
        found[0].cancel()
        return True

    def _headers_for(self, message: Message) -> dict[str, str]:
        made = {**_BASE, **self._handed_on()}
        if self._session is not None:
            made[SESSION] = self._session
        if wire.is_modern(message):
            # From the body that is sent: an argument that was repaired changes its header too.
            made |= mirrored(message) | self._tools.mirrored(message)
            self._modern = made[VERSION]
        elif message.get("method") != "initialize" and (self._version or self._modern):
            made[VERSION] = str(self._version or self._modern)
        return made

    def _handed_on(self) -> dict[str, str]:
        """Of the client's own request what is meant for the server too."""
        own = carried.get()
        if own is not None and own.authorization is not None and own.number > self._newest:
            self._authorization, self._newest = own.authorization, own.number
            self._renewed.set()
        made = {} if own is None else dict(own.headers)
        if self._passes_authorization and self._authorization is not None:
            made["authorization"] = self._authorization
        return made

    async def _post(self, line: bytes, message: Message, before: asyncio.Task[None] | None) -> None:
        id = message.get("id") if "method" in message else None
        try:
            if before is not None:
                await asyncio.wait((before,), timeout=_BEFORE_S)
            await self._posted(line, message, id)
        except httpx2.HTTPError as exc:
            self._fail(id, broken(exc, _CONNECT_S))

    async def _posted(self, line: bytes, message: Message, id: Any) -> None:
        assert self._client is not None
        request = self._client.stream("POST", self.url, content=line, headers=self._headers_for(message))
        async with request as answer:
            if self._moved(answer):
                await self._posted(line, message, id)
                return
            if answer.status_code >= 300:
                await self._refused(answer, message, id)
                return
            if message.get("method") == "initialize":
                self._session = answer.headers.get(SESSION)
            if id is not None and answer.headers.get("content-type", "").startswith("text/event-stream"):
                await self._hear(answer, message, id)
            elif id is not None and answer.status_code != 202:
                self._take(await answer.aread(), message)
            elif id is not None:
                self._fail(
                    id, Unavailable("The server took the request and gives no answer.", reason="no_answer")
                )
        if message.get("method") == "notifications/initialized":
            self._listen()

    def _moved(self, answer: httpx2.Response) -> bool:
        """Whether the same server names another address, such as one with a slash at its end; used from then on."""
        if answer.status_code not in _MOVED or answer.next_request is None:
            return False
        before, after = answer.request.url, answer.next_request.url
        same = (before.scheme, before.netloc) == (after.scheme, after.netloc) and before != after
        if same:
            self.url = str(after)
            self._moves += 1
        return same and self._moves <= _MOST_MOVES

    async def _refused(self, answer: httpx2.Response, message: Message, id: Any) -> None:
        body = await answer.aread()
        try:
            said = wire.parse(body)
        except ValueError:
            said = None
        if answer.status_code == 404 and self._session is not None:
            gone = "its session is over"
            self._fail(
                id, Unavailable(f"{gone}; nothing was done.", reason="session_lost", effect=Effect.NONE)
            )
            self._end(gone)
        elif answer.status_code == 401 or (
            answer.status_code == 403 and "www-authenticate" in answer.headers
        ):
            self._unauthorized(answer, body, id)
        elif isinstance(said, dict) and isinstance(said.get("error"), dict) and id is not None:
            self._take(wire.encode({"jsonrpc": "2.0", **said, "id": id}), message)
        else:
            text = without_secrets(body[:2000].decode("utf-8", "replace"), answer.request.headers)
            error = classify_response(answer.status_code, dict(answer.headers), text, method="POST")
            self._fail(id, error or Unavailable(f"The server answered with HTTP {answer.status_code}."))

    def _unauthorized(self, answer: httpx2.Response, body: bytes, id: Any) -> None:
        """The server wants a login, or another: the client's to give, or a person's."""
        own, sent = carried.get(), answer.request.headers.get("authorization")
        if own is not None and self._passes_authorization:
            own.refusal = Refusal(
                status=answer.status_code,
                challenge=", ".join(answer.headers.get_list("www-authenticate")),
                body=body,
                media_type=answer.headers.get("content-type", ""),
            )
        what = "the authorization that it was sent" if sent else "requests without an authorization"
        error = PermissionDenied(
            f"The server refuses {what} (HTTP {answer.status_code}); nothing was done.",
            reason=f"http_{answer.status_code}",
            owner=Owner.HUMAN,
            suggestion="The person who set this server up has to log in to it, or to give it a token that is good.",
        )
        if not self._passes_authorization and not self._has_said_so:
            self._has_said_so = True
            log.warning("%s Log in by `failsoft mcp --login`, or give a token by --header.", error.message)
        self._fail(id, error)

    # ---- hearing ----

    async def _hear(self, answer: httpx2.Response, message: Message, id: Any) -> None:
        """Events until the answer; where the stream breaks before it, go on from the last event."""
        events = Events()
        if await self._stream(answer, events, message, id):
            return
        failures = 0
        while events.last_id is not None and failures < _TRIES and self._client is not None:
            if self._receiver is not None:
                self._receiver.on_interrupted(id)
            await asyncio.sleep(events.retry_s if events.retry_s is not None else _AGAIN_S)
            before, failures = events.last_id, failures + 1
            headers = {**self._headers_for(message), "last-event-id": before}
            try:
                async with self._client.stream("GET", self.url, headers=headers) as rest:
                    if rest.status_code < 300 and await self._stream(rest, events, message, id):
                        return
            except httpx2.HTTPError as exc:
                log.debug("the stream of a request could not be taken up: %r", exc)
            failures = failures if events.last_id == before else 0
        self._fail(id, NetworkError("The server's stream ended before its answer.", reason="stream_cut"))

    async def _stream(self, answer: httpx2.Response, events: Events, message: Message, id: Any) -> bool:
        """Whether the answer was among the events."""
        try:
            async for piece in answer.aiter_bytes():
                for data in events.feed(piece):
                    if self._take(data, message) == id:
                        return True
        except httpx2.HTTPError:
            if events.last_id is None:
                raise
        return False

    def _take(self, data: bytes, request: Message | None) -> Any:
        """Hand one message on; the id that it answers, if any."""
        line = b" ".join(data.split(b"\n")).strip()
        try:
            message = wire.parse(line)
        except ValueError:
            message = None
        answered = message.get("id") if isinstance(message, dict) and "method" not in message else None
        if request is not None and request.get("method") == "initialize" and answered is not None:
            result = message.get("result")
            self._version = result.get("protocolVersion") if isinstance(result, dict) else None
        elif request is not None and request.get("method") == "tools/list" and wire.is_modern(request):
            self._tools.learn(message)
            line = _usable(message, line)
        if self._receiver is not None and not self._ended:
            told = about.set(None if request is None else request.get("id"))
            self._receiver.on_line(line)
            about.reset(told)
        return answered

    def _listen(self) -> None:
        task = asyncio.get_running_loop().create_task(self._unasked())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _unasked(self) -> None:
        """What the server says unasked, for as long as the session lives and it offers that."""
        events = Events()
        while not self._ended and self._client is not None:
            headers = {name: text for name, text in self._headers_for({}).items() if name != "content-type"}
            if events.last_id is not None:
                headers["last-event-id"] = events.last_id
            try:
                async with self._client.stream("GET", self.url, headers=headers) as answer:
                    if answer.status_code == 404 and self._session is not None:
                        self._end("its session is over")
                    refused = answer.status_code == 401 and self._passes_authorization
                    if answer.status_code >= 300 and not refused:
                        return
                    async for piece in answer.aiter_bytes():
                        for data in events.feed(piece) if not refused else ():
                            self._take(data, None)
                if refused:
                    self._renewed.clear()
                    await self._renewed.wait()
                    continue
            except httpx2.HTTPError as exc:
                log.debug("the stream of %s broke: %r", self.url, exc)
            await asyncio.sleep(events.retry_s if events.retry_s is not None else _AGAIN_S)

    def _fail(self, id: Any, error: AgentError) -> None:
        if id is not None and self._receiver is not None and not self._ended:
            self._receiver.on_failure(id, error)

    def _end(self, why: str) -> None:
        if not self._ended:
            self._ended = True
            if self._receiver is not None:
                self._receiver.on_end(why)

    # ---- the rest ----

    def pause(self, paused: bool) -> None:
        """Nothing to do: each stream has its own connection, and its own limits."""

    def kill(self) -> None:
        """The server is not ours to kill; the session is given up."""
        self._ended = True

    async def close(self) -> None:
        """End the session in order."""
        self._ended = True
        client, self._client = self._client, None
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.gather(
            *(task for task in self._tasks if task is not asyncio.current_task()), return_exceptions=True
        )
        if client is None:
            return
        if self._session is not None:
            try:
                async with asyncio.timeout(_LEAVE_S):
                    await client.delete(self.url, headers={SESSION: self._session})
            except (httpx2.HTTPError, TimeoutError) as exc:
                log.debug("the session at %s was not ended in order: %r", self.url, exc)
        await client.aclose()


def _usable(answer: Any, line: bytes) -> bytes:
    """A list of tools without those whose headers break the rules: a client over HTTP must not use them."""
    result = answer.get("result")
    tools = result.get("tools") if isinstance(result, dict) else None
    kept = [each for each in tools if _has_good_headers(each)] if isinstance(tools, list) else tools
    return line if kept == tools else wire.encode({**answer, "result": {**result, "tools": kept}}).rstrip()


def _has_good_headers(tool: Any) -> bool:
    try:
        annotated(tool.get("inputSchema") if isinstance(tool, dict) else None)
    except ValueError as exc:
        log.warning("the tool %s is left out: %s", tool.get("name"), exc)
        return False
    return True
