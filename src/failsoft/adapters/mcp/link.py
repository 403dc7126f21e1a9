"""One server as the proxy sees it: requests under way, its death, its restart, and the state it is given again.

    up ──ended──> starting ──handshake made again──> up
                     └──budget used up──> down ──somebody asks after the rest──> starting

Rules of this file
- Whatever was under way when a server ended is settled at once: calls of tools get an error with the effect that is
  possible, requests that only look are sent again, all others get an error.
- A connection is used once. What an old one still says is not heard.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.introduction import Introduction
from failsoft.adapters.mcp.restarts import Restarts, RestartState
from failsoft.adapters.mcp.traffic import LOOKS, Traffic
from failsoft.core.errors import AgentError, Unavailable
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.adapters.mcp.traffic import Waiter
    from failsoft.adapters.mcp.transport import Transport
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Link", "LinkOwner"]

log = logging.getLogger("failsoft.mcp")

_GARBAGE_SHOWN = 200


class LinkOwner(Protocol):
    """Who is told what a server says."""

    def from_server(self, link: Link, message: Message, line: bytes) -> None:
        """A request or a notification."""
        ...

    def answered(self, link: Link, request: Message, message: Message, line: bytes) -> None:
        """The answer to a request that was passed on; `line` is without its end."""
        ...

    def restarted(self, link: Link) -> None:
        """The server was started again and has its state back."""
        ...

    def blocked(self, link: Link, blocked: bool) -> None:
        """The server does not read what is sent, or reads again."""
        ...


class Link:
    """See the module.

    Args:
        name: The server's name, for people.
        connect: Makes a fresh connection.
        owner: Who is told what the server says.
        restarts: How often it may be started again.
        start_s: Seconds that a server has for its handshake when it is started again.
        hang_s: Seconds after which a server that answers nothing, not even a ping, is killed.

    Attributes:
        interrupted: Told of requests whose stream the server has closed, to go on with them on the next.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Transport],
        owner: LinkOwner,
        *,
        restarts: Restarts = Restarts(),
        start_s: float = 30.0,
        hang_s: float = 30.0,
    ) -> None:
        self.name, self.owner = name, owner
        self.start_s, self.hang_s = start_s, hang_s
        self.introduction = Introduction()
        self.starts = 0
        self.why = ""
        self.interrupted: Callable[[Any], object] | None = None
        self._connect = connect
        self._budget = RestartState(restarts)
        self._transport: Transport | None = None
        self._up = asyncio.Event()
        self._closed = False
        self._down_until: float | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing: set[asyncio.Task[Any]] = set()
        self._suspected = False
        self._heard_at = 0.0
        self._garbage = b""
        self.traffic = Traffic(name, self._answered)

    # ---- life ----

    async def start(self) -> None:
        """Connect for the first time.

        Raises:
            AgentError: There is nothing to connect to.
        """
        await self._open()
        self._up.set()

    async def _open(self) -> None:
        transport = self._connect()
        self._transport = transport
        self.starts += 1
        await transport.open(_Ear(self, transport))

    @property
    def is_up(self) -> bool:
        """Whether the server takes requests now."""
        return self._up.is_set()

    async def ready(self, wait_s: float) -> None:
        """Wait until the server takes requests.

        Raises:
            Unavailable: It does not; nothing was sent.
        """
        if self._up.is_set():
            return
        self._revive()
        if self._down_until is None and not self._closed:
            try:
                async with asyncio.timeout(wait_s):
                    await self._up.wait()
                    return
            except TimeoutError:
                pass
        raise self._down_error()

    def _revive(self) -> None:
        """Try again where the rest after a used up budget is over."""
        now = asyncio.get_running_loop().time()
        if self._down_until is not None and now >= self._down_until and not self._closed:
            self._down_until = None
            self._spawn(self._restart())

    def _down_error(self) -> Unavailable:
        now = asyncio.get_running_loop().time()
        back_s = None if self._down_until is None else max(0.0, self._down_until - now)
        rests = self._down_until is not None or self._closed
        return Unavailable(
            f"The server {self.name} is {'down' if rests else 'being started again'}: {self.why}. Nothing was sent.",
            reason="server_down" if rests else "server_starting",
            effect=Effect.NONE,
            retryable=not rests,
            retry_after_s=back_s,
        )

    def ended(self, transport: Transport, why: str) -> None:
        """The connection is gone: settle what was under way, and start again."""
        if transport is not self._transport or self._closed:
            return
        if self._garbage and not self._heard_at:
            why += f", and all it wrote is no message, such as {self._garbage!r}"
        self._transport, self.why = None, why
        was_up = self._up.is_set()
        self._up.clear()
        log.warning("the server %s is gone: %s", self.name, why)
        self.traffic.lost(why)
        self._spawn(transport.close(), self._closing)
        if was_up:
            self._spawn(self._restart())

    async def _restart(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._closed:
            wait_s = self._budget.next_wait_s(loop.time())
            if wait_s is None:
                self._give_up(loop.time())
                return
            await asyncio.sleep(wait_s)
            try:
                await self._open()
                await self._introduce()
            except (AgentError, OSError) as exc:
                self.why = str(exc)
                log.warning("starting %s again failed: %s", self.name, exc)
                await self._drop()
                continue
            self._up.set()
            self._resend()
            self.owner.restarted(self)
            log.warning("the server %s was started again", self.name)
            return

    async def _drop(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.kill()
            await transport.close()

    def _give_up(self, now: float) -> None:
        rest_s = self._budget.options.rest_s
        self._down_until = now + rest_s
        log.error("the server %s is down for %g s: its restarts are used up; %s", self.name, rest_s, self.why)
        self.traffic.refuse_all(f"the server is down: {self.why}")

    async def _introduce(self) -> None:
        """Tell a fresh process what the client had told the old one.

        Raises:
            AgentError: It does not take it.
        """
        told = self.introduction
        if not told.is_answered:
            return
        answer = await self.ask("initialize", told.initialize, self.start_s)
        if "error" in answer:
            raise Unavailable(f"it refuses the handshake: {answer['error']}", effect=Effect.NONE)
        told.answered(answer.get("result"))
        if told.initialized:
            self.tell("notifications/initialized")
        for method, params in told.again():
            await self.ask(method, params, self.start_s)

    def _resend(self) -> None:
        for line, message in list(self.traffic.passing.values()):
            self.write(line, message)

    def _spawn(self, work: Any, among: set[asyncio.Task[Any]] | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work)
        (self._tasks if among is None else among).add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._closing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("the link to %s failed", self.name, exc_info=task.exception())

    async def aclose(self) -> None:
        """End the server and everything that waits for it."""
        self._closed = True
        self._up.clear()
        self.traffic.lost("the proxy ends")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    # ---- sending ----

    def write(self, line: bytes, message: Message) -> None:
        """Send one message.

        Raises:
            Unavailable: The server is gone; nothing was sent.
        """
        if self._transport is None:
            raise self._down_error()
        try:
            self._transport.send(line, message)
        except ConnectionError as exc:
            raise self._down_error() from exc

    def tell(self, method: str, params: Any = None) -> None:
        """Send a notification; without a server there is nobody to notify."""
        message = wire.notification(method, params)
        try:
            self.write(wire.encode(message), message)
        except Unavailable:
            log.debug("%s was not told of %s", self.name, method)

    def pass_on(self, message: Message, line: bytes) -> None:
        """Forward a client's message as it is; its answer goes to the owner."""
        method, id = message["method"], message.get("id")
        self.introduction.sent(message)
        if id is not None:
            self.traffic.passing[id] = (line, message)
        try:
            self.write(line, message)
        except Unavailable as exc:
            self._revive()
            if id is None or (self._down_until is None and method in LOOKS):
                return  # sent when the server is back
            self.traffic.refuse(id, str(exc))

    async def ask(self, method: str, params: Any, timeout_s: float) -> Message:
        """A request of the proxy's own.

        Raises:
            Unavailable: No answer.
        """
        message = wire.request(wire.new_request_id(), method, params)
        waiter = self.traffic.expect(message["id"])
        try:
            self.write(wire.encode(message), message)
            async with asyncio.timeout(timeout_s):
                return await waiter.future
        except TimeoutError as exc:
            raise Unavailable(
                f"{self.name} did not answer {method} within {timeout_s:g} s.", reason="no_answer"
            ) from exc
        finally:
            self.traffic.waiting.pop(message["id"], None)

    def forsake(self, id: Any, reason: str, waiter: Waiter, *, timed_out: bool) -> None:
        """Stop waiting for an answer: tell the server, and keep an ear open for what comes late."""
        self.traffic.expect_late(id)
        self.tell("notifications/cancelled", {"requestId": id, "reason": reason})
        if timed_out and self._heard_at < waiter.since and not self._suspected:
            self._suspected = True
            self._spawn(self._look_for_life(self._transport))

    async def _look_for_life(self, transport: Transport | None) -> None:
        """Ask a silent server for any sign of life; kill it where there is none."""
        try:
            await self.ask("ping", None, self.hang_s)
        except Unavailable:
            silent_s = asyncio.get_running_loop().time() - self._heard_at
            if transport is not None and transport is self._transport and silent_s >= self.hang_s:
                transport.kill()
                self.ended(transport, f"it answered nothing for {self.hang_s:g} s and was killed")
        finally:
            self._suspected = False

    # ---- hearing ----

    def heard(self, transport: Transport, line: bytes) -> None:
        """One line from the server."""
        if transport is not self._transport:
            return
        try:
            message = wire.parse(line)
        except ValueError:
            message = None
        for each in message if isinstance(message, list) else (message,):
            if isinstance(each, dict):
                self._take(each, line if each is message else wire.encode(each))
            else:
                level = logging.DEBUG if self._garbage else logging.WARNING
                self._garbage = self._garbage or line[:_GARBAGE_SHOWN]
                log.log(level, "%s wrote what is no message: %r", self.name, line[:_GARBAGE_SHOWN])

    def _take(self, message: Message, line: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        id, method = message.get("id"), message.get("method")
        if method is None and wire.is_id(id):
            self.traffic.take_answer(message, line)
        elif method is not None:
            if method == "notifications/progress":
                self.traffic.take_progress(message)
            self.owner.from_server(self, message, line)

    def failed(self, transport: Transport, id: Any, error: AgentError) -> None:
        """One request will not be answered."""
        if transport is self._transport:
            self.traffic.fail(id, error)

    def _answered(self, request: Message, message: Message, line: bytes) -> None:
        if request["method"] == "initialize":
            self.introduction.answered(message.get("result"))
        self.owner.answered(self, request, message, line)

    def pause(self, paused: bool) -> None:
        """Stop reading from the server, or go on."""
        if self._transport is not None:
            self._transport.pause(paused)


class _Ear:
    """Hears one connection, and says which."""

    __slots__ = ("_link", "_transport")

    def __init__(self, link: Link, transport: Transport) -> None:
        self._link, self._transport = link, transport

    def on_line(self, line: bytes) -> None:
        self._link.heard(self._transport, line)

    def on_end(self, why: str) -> None:
        self._link.ended(self._transport, why)

    def on_failure(self, id: Any, error: AgentError) -> None:
        self._link.failed(self._transport, id, error)

    def on_interrupted(self, id: Any) -> None:
        if self._link.interrupted is not None:
            self._link.interrupted(id)

    def on_blocked(self, blocked: bool) -> None:
        self._link.owner.blocked(self._link, blocked)
