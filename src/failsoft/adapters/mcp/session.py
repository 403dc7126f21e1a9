"""One client and the server behind it: calls of tools go through the harness, all else passes as it came.

    client ── tools/call ───────── harness ── attempts ──┐
           ── everything else, byte for byte ────────────┴── link ── server

Rules of this file
- What the server asks of the client (sampling, elicitation, roots) gets an id of our own on the way, because a server
  that was started again counts from the beginning.
- A call that the client has cancelled is not answered; that is the protocol's rule.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.answers import answer_to, late_result, passed_answer
from failsoft.adapters.mcp.calls import ClientCall, NotYet, body_for, current_client_call
from failsoft.adapters.mcp.catalogue import Catalogue
from failsoft.adapters.mcp.effects import ServerOptions
from failsoft.adapters.mcp.listing import list_tools, shown_tools
from failsoft.adapters.mcp.questions import Questions
from failsoft.core.errors import AgentError
from failsoft.harness.batch import RESULT_OF

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.adapters.mcp.headers import ToolHeaders
    from failsoft.adapters.mcp.link import Link
    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.results import ToolResult
    from failsoft.ledger.port import LedgerStore

__all__ = ["ClientSide", "Session"]

log = logging.getLogger("failsoft.mcp")

_LIST_S = 30.0
_RELIST_S = 5.0
_MAX_KEPT = 100
_RUN, _OCCURRENCE, _KEY = "failsoft/run", "failsoft/occurrence", "failsoft/key"


class ClientSide(Protocol):
    """The way back to the client."""

    def send(self, line: bytes, message: Message | None) -> None:
        """Write one message, with its line's end; `message` is the same where it is known."""
        ...

    def pause(self, paused: bool) -> None:
        """Stop reading from the client, or go on."""
        ...


class Session:
    """See the module.

    Args:
        make_link: Makes the link to the server, of which this session is the owner.
        client: The way back to the client.
        options: What the user says of the server.
        scope: The scope of the ledger: the server's name.
        store: As for `Harness`.
        config: As for `Harness`.
        remember_s: Seconds for which an identical protected call of this session gets the recorded result;
            0 remembers doubts only.
    """

    def __init__(
        self,
        make_link: Callable[[Session], Link],
        client: ClientSide,
        *,
        options: ServerOptions = ServerOptions(),
        scope: str = "mcp",
        store: str | LedgerStore = "auto",
        config: Any = "auto",
        remember_s: float = 0.0,
    ) -> None:
        self.client = client
        self.link = make_link(self)
        self.catalogue = Catalogue(
            scope,
            options,
            lambda name: body_for(self.link, name),
            store=store,
            config=config,
            shown_changed=self._shown_changed,
        )
        self.id = wire.new_request_id()
        self.remember_s = remember_s
        self.calls: dict[Any, asyncio.Task[None]] = {}
        self._asked: dict[Any, Any] = {}
        self.questions = Questions()
        self._late: dict[str, Message] = {}
        self._listing: asyncio.Lock = asyncio.Lock()
        self._listed_at = float("-inf")
        self._pages: list[Any] = []
        self._shown: dict[str, str] = {}

    async def start(self) -> None:
        """Connect to the server.

        Raises:
            AgentError: It cannot be started.
        """
        await self.link.start()

    def has_asked(self, id: Any) -> bool:
        """Whether the server waits for the client's answer under this id."""
        return wire.is_id(id) and id in self._asked

    # ---- from the client ----

    def from_client(self, line: bytes) -> None:
        """One line from the client, without its end."""
        for message, own_line in wire.read(line):
            if own_line:
                self._take(message, own_line)
            else:
                self._send(message)

    def _take(self, message: Message, line: bytes) -> None:
        method, id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._answer_server(message, id)
        elif method == "tools/call" and wire.is_id(id) and wire.tool_name(message) is not None:
            self._begin(message, line)
        elif method == "notifications/cancelled" and self._cancel(message):
            return
        else:
            self.link.pass_on(message, line)

    def _answer_server(self, message: Message, id: Any) -> None:
        """A client's answer to what the server had asked."""
        own = self._asked.pop(id, None) if wire.is_id(id) else None
        if own is None:
            log.debug("the client answered what nobody asks any more: id %r", id)
            return
        self.questions.closed(id)
        answer = {**message, "id": own}
        try:
            self.link.write(wire.encode(answer), answer)
        except AgentError:
            log.debug("the server that asked is gone")

    def _cancel(self, message: Message) -> bool:
        """Cancel a call; whether it was one."""
        params = message.get("params")
        id = params.get("requestId") if isinstance(params, dict) else None
        task = self.calls.get(id) if wire.is_id(id) else None
        if task is None:
            if wire.is_id(id):
                self.link.traffic.passing.pop(id, None)
            return False
        task.cancel()
        return True

    def _begin(self, message: Message, line: bytes) -> None:
        id = message["id"]
        if id in self.calls:
            self._send(wire.failure(id, wire.INVALID_REQUEST, "a request of this id is under way"))
            return
        task = asyncio.get_running_loop().create_task(self._call(message, line))
        self.calls[id] = task
        task.add_done_callback(lambda done: self._ended(id, done))

    def _ended(self, id: Any, task: asyncio.Task[None]) -> None:
        if self.calls.get(id) is task:
            del self.calls[id]
        if not task.cancelled() and task.exception() is not None:
            log.error("failsoft failed at a call", exc_info=task.exception())
            self._send(wire.failure(id, wire.INTERNAL_ERROR, "the proxy itself failed at this call"))

    # ---- a call ----

    async def _call(self, message: Message, line: bytes) -> None:
        name = str(wire.tool_name(message))
        if self.catalogue.stale or name not in self.catalogue.definitions:
            await self._list(message)
        harness = self.catalogue.harness
        if harness is None or name in self.catalogue.foreign:
            self._without_harness(message, line)
            return
        call = ClientCall(
            message,
            line,
            name=name,
            questions=self.questions,
            asks_progress=self.catalogue.waits_idle(name),
        )
        current_client_call.set(call)
        try:
            result = await harness.call(name, message["params"].get("arguments"), **self._options(call))
        except NotYet as not_yet:
            self.client.send(passed_answer(call, not_yet.answer, call.answer_line), None)
            return
        except asyncio.CancelledError as exc:
            self._listen_late(call, getattr(exc, RESULT_OF, None))
            raise
        self._listen_late(call, result)
        late = await self._known_late(call, result)
        self.client.send(late or answer_to(call, result), None)

    def _without_harness(self, message: Message, line: bytes) -> None:
        problem = self.catalogue.problem
        if problem is not None:
            self._send(wire.failure(message["id"], wire.INTERNAL_ERROR, f"failsoft: {problem}"))
        else:
            self.link.pass_on(message, line)

    def _options(self, call: ClientCall) -> dict[str, Any]:
        """What a call says of itself in `_meta`, and the run that it belongs to."""
        meta = wire.meta_of(call.message)
        made: dict[str, Any] = {"id": f"{self.id}:{call.id}"}
        run = meta.get(_RUN)
        if isinstance(run, str) and run:
            made["run"] = run
        elif self.remember_s > 0:
            made["run"] = f"{self.id}:{int(time.monotonic() // self.remember_s)}"
        call.remembers = "run" in made
        if isinstance(meta.get(_OCCURRENCE), int) and meta[_OCCURRENCE] >= 1:
            made["occurrence"] = meta[_OCCURRENCE]
        if isinstance(meta.get(_KEY), str):
            made["key"] = meta[_KEY]
        return made

    def _listen_late(self, call: ClientCall, result: ToolResult | None) -> None:
        """Keep an ear open for the answer of a call that ended without one, and is in doubt."""
        doubt = None if result is None else result.doubt
        if doubt is not None:
            for id in call.forsaken:
                if id in self.link.traffic.late:
                    self.link.traffic.late[id] = lambda answer: self._came_late(doubt, answer)

    async def _known_late(self, call: ClientCall, result: ToolResult) -> bytes | None:
        """The answer of an earlier identical call that came after its time."""
        doubt = result.doubt
        if doubt is None:
            return None
        harness = self.catalogue.harness
        if result.attempts or doubt not in self._late or harness is None:
            return None
        answer = self._late.pop(doubt)
        try:
            await harness.resolve(doubt, happened=True, result=answer["result"], by="late answer")
        except AgentError as exc:
            log.debug("the doubt %s was resolved by somebody else: %s", doubt, exc)
        return wire.encode(wire.response(call.id, late_result(answer)))

    def _came_late(self, doubt: str, answer: Message) -> None:
        result = answer.get("result")
        if isinstance(result, dict) and result.get("isError") is not True:
            self._late[doubt] = answer
            while len(self._late) > _MAX_KEPT:
                del self._late[next(iter(self._late))]
            log.info("the answer of the call in doubt %s came late", doubt)

    # ---- the list of tools ----

    async def _list(self, message: Message) -> None:
        """Get the list where it is not known, or may have changed."""
        now = asyncio.get_running_loop().time()
        if not self.catalogue.stale and now - self._listed_at < _RELIST_S:
            return
        async with self._listing:
            if not self.catalogue.stale and self._listed_at > now:
                return
            try:
                await self.link.ready(_LIST_S)
                tools = await list_tools(self.link, message, _LIST_S)
            except AgentError as exc:
                log.warning("the tools of %s could not be listed: %s", self.link.name, exc)
                return
            self._listed_at = asyncio.get_running_loop().time()
            self.catalogue.take(tools)

    async def tool_headers(self, message: Message) -> tuple[Message, ToolHeaders]:
        """A call as the server knows it, and which arguments of its tools have headers over HTTP."""
        if self.catalogue.stale or wire.tool_name(message) not in self.catalogue.definitions:
            await self._list(message)
        return message, self.catalogue.headers

    def _hear_list(self, message: Message, request: Message) -> Message:
        """Take note of a list on its way to the client; the message to send."""
        result = message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(tools, list):
            return message
        params = request.get("params")
        if not (isinstance(params, dict) and params.get("cursor")):
            self._pages = []
        self._pages += tools
        if not result.get("nextCursor"):
            self.catalogue.take(self._pages)
            self._listed_at = asyncio.get_running_loop().time()
        self._shown = self.catalogue.open_breakers()
        if not self._shown:
            return message
        return {**message, "result": {**result, "tools": shown_tools(tools, self._shown)}}

    def _shown_changed(self) -> None:
        """Have the client ask for the list again, where what it was shown is not so any more."""
        if self.catalogue.open_breakers() != self._shown:
            self._send(wire.notification("notifications/tools/list_changed"))

    # ---- from the server ----

    def from_server(self, link: Link, message: Message, line: bytes) -> None:
        """A request or a notification."""
        method, id = message.get("method"), message.get("id")
        if wire.is_id(id):
            own = wire.new_request_id()
            self._asked[own] = id
            self.questions.opened(own, method)
            message = {**message, "id": own}
            self.client.send(wire.encode(message), message)
            return
        params = message.get("params")
        if method == "notifications/progress":
            if isinstance(params, dict) and wire.is_own(params.get("progressToken")):
                return  # the client had not asked for it
        elif method == "notifications/tools/list_changed":
            self.catalogue.stale = True
        elif method == "notifications/cancelled" and isinstance(params, dict):
            asked = next(
                (own for own, theirs in self._asked.items() if theirs == params.get("requestId")), None
            )
            if asked is not None:
                self.questions.closed(asked)
                message = {**message, "params": {**params, "requestId": asked}}
                self.client.send(wire.encode(message), message)
                return
        self.client.send(line + b"\n", message)

    def answered(self, link: Link, request: Message, message: Message, line: bytes) -> None:
        """The answer to a request that was passed on as it came."""
        if request["method"] == "tools/list":
            changed = self._hear_list(message, request)
            if changed is not message:
                self._send(changed)
                return
        self.client.send(line + b"\n", message)

    def restarted(self, link: Link) -> None:
        """The server was started again: what it had asked is void, what it lists may be new."""
        for own in list(self._asked):
            self._send(
                wire.notification(
                    "notifications/cancelled", {"requestId": own, "reason": "the server was started again"}
                )
            )
        self._asked.clear()
        self.questions.clear()
        self.catalogue.stale = True

    def blocked(self, link: Link, blocked: bool) -> None:
        """The server does not read: the client is not read either."""
        self.client.pause(blocked)

    def client_blocked(self, blocked: bool) -> None:
        """The client does not read: the server is not read either."""
        self.link.pause(blocked)

    def _send(self, message: Message) -> None:
        self.client.send(wire.encode(message), message)

    # ---- ending ----

    async def drain(self, wait_s: float) -> None:
        """Let what is under way end by itself."""
        until = asyncio.get_running_loop().time() + wait_s
        while (self.calls or self.link.traffic.is_asked) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def aclose(self) -> None:
        """Cancel what is under way, settle it, end the server."""
        for task in list(self.calls.values()):
            task.cancel()
        await asyncio.gather(*self.calls.values(), return_exceptions=True)
        await self.link.aclose()
        await self.catalogue.aclose()
