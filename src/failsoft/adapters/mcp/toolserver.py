"""One server whose tools are used here: the client's side of the protocol, over the link that the proxy uses too.

Speaks the handshake versions, and where a server takes none, the requests of 2026-07-28 that carry their version.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.calls import ClientCall, NotYet
from failsoft.adapters.mcp.catalogue import make_tools
from failsoft.adapters.mcp.effects import rules_of
from failsoft.adapters.mcp.link import Link
from failsoft.adapters.mcp.listing import list_tools
from failsoft.adapters.mcp.merging import own_info
from failsoft.adapters.mcp.outcome import ServerSaidError, asks_back_error, described, judged, value_of
from failsoft.adapters.mcp.questions import Questions
from failsoft.core.context import current
from failsoft.core.errors import AgentError, Unavailable, make_error
from failsoft.core.kinds import Effect, Owner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from failsoft.adapters.mcp.config import ServerSpec
    from failsoft.adapters.mcp.wire import Message
    from failsoft.tools import Tool

__all__ = ["ToolServer"]

log = logging.getLogger("failsoft.mcp")

_HANDSHAKE: Final = "2025-11-25"
_MODERN: Final = "2026-07-28"
_PAGE_S: Final = 30.0
_RENEW_S: Final = 5.0
_AGAIN_S: Final = 10.0
_SHOWN_CHARS: Final = 200


class ToolServer:
    """See the module.

    Args:
        spec: How it is reached, and what is said of it.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.tools: tuple[Tool[..., Any], ...] = ()
        self.version = 0
        self.instructions = ""
        self.link = Link(
            spec.name, spec.connect, self, restarts=spec.restarts, start_s=spec.start_s, hang_s=spec.hang_s
        )
        self._made: dict[str, tuple[Any, Tool[..., Any]]] = {}
        self._named: dict[tuple[Tool[..., Any], str], Tool[..., Any]] = {}
        self._meta: dict[str, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_listing = asyncio.Lock()
        self._is_stale, self._not_before = True, 0.0
        self._is_closed = False
        self._questions = Questions()

    @property
    def label(self) -> str:
        """The server as whoever started it knows it."""
        text = self.spec.url or shlex.join(self.spec.argv)
        return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"

    # ---- beginning and ending ----

    async def start(self, within_s: float) -> None:
        """Start it, introduce this program, and read its tools.

        Raises:
            AgentError: It cannot be used; the message names it.
            UsageError: A package is missing.
        """
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within_s):
                await self.link.start()
                await self._greet(within_s)
                self._take(await list_tools(self.link, self._like(), within_s))
        except TimeoutError as exc:
            problem = Unavailable(f"it was not ready within {within_s:g} s", reason="no_answer")
            raise self._unusable(problem) from exc
        except AgentError as exc:
            raise self._unusable(exc) from exc
        self._is_stale = False
        if not self.tools:
            log.warning("the MCP server %s has no tools", self.spec.name)

    def _unusable(self, problem: AgentError) -> AgentError:
        why = self.link.why or str(problem).rstrip(".")
        return problem.replace(
            message=f"The MCP server `{self.label}` cannot be used: {why}.",
            effect=Effect.NONE,
            retryable=False,
            owner=Owner.HUMAN,
        )

    async def _greet(self, within_s: float) -> None:
        params = {"protocolVersion": _HANDSHAKE, "capabilities": {}, "clientInfo": own_info()}
        answer = await self.link.ask("initialize", params, within_s)
        result = answer.get("result")
        if not isinstance(result, dict):
            await self._discover(answer, within_s)
            return
        self._note(result)
        # Kept by the link, so that a server which is started again is told the same.
        known = self.link.introduction
        known.sent(wire.notification("initialize", params))
        known.answered(result)
        known.sent(wire.notification("notifications/initialized"))
        self.link.tell("notifications/initialized")

    async def _discover(self, refusal: Message, within_s: float) -> None:
        """A server without a handshake hears with each request who asks.

        Raises:
            Unavailable: It knows neither.
        """
        prefix = wire.PROTOCOL_KEY.rpartition("/")[0]
        meta = {
            wire.PROTOCOL_KEY: _MODERN,
            f"{prefix}/clientInfo": own_info(),
            f"{prefix}/clientCapabilities": {},
        }
        answer = await self.link.ask("server/discover", {"_meta": meta}, within_s)
        if not isinstance(answer.get("result"), dict):
            said = refusal.get("error")
            raise Unavailable(f"it refuses the handshake: {said}", reason="handshake_refused")
        self._meta = meta
        self._note(answer["result"])

    def _note(self, result: Message) -> None:
        said = result.get("instructions")
        self.instructions = said.strip() if isinstance(said, str) else ""

    def _like(self) -> Message:
        return wire.request(0, "tools/list", {"_meta": self._meta} if self._meta else None)

    async def aclose(self) -> None:
        """End the server with everything that it has started."""
        self._is_closed = True
        await self.link.aclose()

    # ---- its tools ----

    async def renew(self) -> None:
        """Read the list again where it may have changed; where it cannot be read, the old one stays for a while."""
        if not self._is_due():
            return
        async with self._is_listing:
            if not self._is_due():  # somebody else has read it meanwhile
                return
            self._is_stale = False  # what is told meanwhile counts for the next time
            try:
                await self.link.ready(_RENEW_S)
                self._take(await list_tools(self.link, self._like(), _RENEW_S))
            except AgentError as exc:
                self._is_stale = True
                self._not_before = asyncio.get_running_loop().time() + _AGAIN_S
                log.warning(
                    "the tools of %s cannot be listed again, the old ones stay: %s", self.link.name, exc
                )

    def _is_due(self) -> bool:
        loop = asyncio.get_running_loop()
        is_open = loop is self._loop and not self._is_closed
        return is_open and self._is_stale and loop.time() >= self._not_before

    def _take(self, definitions: list[Any]) -> None:
        """Make tools of a list; what is as it was stays the same object, with all its state."""
        listed: dict[str, Any] = {}
        for each in definitions:
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                listed.setdefault(each["name"], each)
        known = {
            name: self._made[name]
            for name, each in listed.items()
            if name in self._made and self._made[name][0] == each
        }
        fresh = [each for name, each in listed.items() if name not in known]
        for tool in make_tools(fresh, self.spec.options, self._body_of):
            known[tool.name] = (listed[tool.name], tool)
        tools = tuple(known[name][1] for name in listed if name in known)
        self._made = known
        if tools != self.tools:
            self.tools = tools
            self.version += 1

    def named(self, tool: Tool[..., Any], name: str) -> Tool[..., Any]:
        """A tool of this server under another name; the same one each time."""
        if name == tool.name:
            return tool
        if (tool, name) not in self._named:
            self._named[tool, name] = tool.replace(name=name)
        return self._named[tool, name]

    # ---- a call ----

    def _body_of(self, name: str) -> Callable[..., Awaitable[Any]]:
        rules = rules_of(self.spec.options.said_of(name), name)

        async def body(**values: Any) -> Any:
            result = await self._ask(name, values)
            told = described(result) if self.spec.options.trust == "all" else None
            if told is not None:
                raise told
            try:
                return value_of(result, rules)
            except ServerSaidError as said:
                raise judged(said, current()) from said

        return body

    async def _ask(self, name: str, values: Mapping[str, Any]) -> Any:
        """One attempt.

        Raises:
            AgentError: No answer, or a protocol error.
        """
        self._check()
        id = wire.new_request_id()
        params = {"name": name, "arguments": dict(values), "_meta": {**self._meta, "progressToken": id}}
        message = wire.request(id, "tools/call", params)
        call = ClientCall(message, wire.encode(message), name=name, questions=self._questions)
        try:
            return await call.attempt(self.link, name, dict(values))
        except NotYet as exc:
            raise asks_back_error(name) from exc

    def _check(self) -> None:
        if self._is_closed:
            problem, reason = "was ended with its `mcp_tools`", "server_closed"
        elif asyncio.get_running_loop() is not self._loop:
            problem = (
                "belongs to the event loop that it was started in: harness.call_sync(..., loop=that_loop)"
            )
            reason = "wrong_loop"
        else:
            return
        raise make_error(
            "unavailable",
            f"The MCP server {self.spec.name} {problem}; nothing was sent.",
            reason=reason,
            effect=Effect.NONE,
            retryable=False,
            owner=Owner.HUMAN,
        )

    # ---- what the link tells ----

    def from_server(self, link: Link, message: Message, line: bytes) -> None:
        """A request or a notification."""
        id, method = message.get("id"), message.get("method")
        if wire.is_id(id):
            self._answer(id, str(method))
        elif method == "notifications/tools/list_changed":
            self._is_stale, self._not_before = True, 0.0
        elif method == "notifications/message":
            log.debug("%s says: %s", link.name, message.get("params"))

    def _answer(self, id: Any, method: str) -> None:
        """Servers may ask back; whoever waits for an answer is not to wait for ever."""
        refusal = wire.failure(id, wire.METHOD_NOT_FOUND, f"this client has no {method!r}")
        answer = wire.response(id, {}) if method == "ping" else refusal
        try:
            self.link.write(wire.encode(answer), answer)
        except AgentError:
            log.debug("the server that asked for %s is gone", method)

    def answered(self, link: Link, request: Message, message: Message, line: bytes) -> None:
        """Nothing is passed on here."""

    def restarted(self, link: Link) -> None:
        """What it lists may be new."""
        self._is_stale, self._not_before = True, 0.0

    def blocked(self, link: Link, blocked: bool) -> None:
        """Calls wait by their own time."""
