"""Several servers as one: each has a session of its own, and this is the client of them all.

    client ── Many ─┬─ Session ── server A
                    └─ Session ── server B

Rules of this file
- Lists are merged. A tool or prompt whose name two servers use is called `server__name` for both of them.
- What names a tool, a prompt or a resource goes to the server that has it; what names none is asked of one after the
  other, until one does not refuse.
- What the servers ask of the client passes: sessions have given it ids that differ.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.headers import ToolHeaders
from failsoft.adapters.mcp.merging import merged_discovery, merged_handshake
from failsoft.core.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.adapters.mcp.session import ClientSide, Session
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Many"]

log = logging.getLogger("failsoft.mcp")

_LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
_NAMED: Final = {"tools/call": "tools/list", "prompts/get": "prompts/list"}
_BY_URI: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_MAX_PAGES: Final = 1000
_JOINT: Final = "__"


class _Port:
    """One session's way back: answers to questions of ours are kept, all else goes to the client."""

    def __init__(self, many: Many, name: str) -> None:
        self.many, self.name = many, name
        self.waiting: dict[Any, asyncio.Future[Message]] = {}
        self.subscriptions: dict[Any, Any] = {}

    def send(self, line: bytes, message: Message | None) -> None:
        """One message of the session's."""
        known: Any = wire.parse(line) if message is None and self.waiting else message
        waiter = None if known is None or "method" in known else self.waiting.pop(known.get("id"), None)
        if waiter is None and known is not None and self.subscriptions and "method" in known:
            self._news(known, line)
        elif waiter is None:
            self.many.client.send(line, message)
        elif not waiter.done():
            waiter.set_result(known)

    def _news(self, message: Message, line: bytes) -> None:
        """A notification, under the client's own name of the subscription that it is for."""
        own = wire.meta_of(message).get(_SUBSCRIPTION)
        listens = self.subscriptions.get(own) if wire.is_id(own) else None
        if listens is None:
            self.many.client.send(line, message)
        elif message["method"] != _ACKNOWLEDGED or self.many.is_first(listens):
            meta = {**wire.meta_of(message), _SUBSCRIPTION: listens}
            message = {**message, "params": {**message["params"], "_meta": meta}}
            self.many.client.send(wire.encode(message), message)

    def pause(self, paused: bool) -> None:
        """Stop reading from the client, or go on."""
        self.many.client.pause(paused)


class Many:
    """See the module.

    Args:
        client: The way back to the client.
        makers: What makes each server's session, by the server's name.
    """

    def __init__(self, client: ClientSide, makers: Mapping[str, Callable[[ClientSide], Session]]) -> None:
        self.client = client
        self._ports = {name: _Port(self, name) for name in makers}
        self.sessions = {name: make(self._ports[name]) for name, make in makers.items()}
        self._owners: dict[str, dict[str, tuple[str, str]]] = {method: {} for method in _LISTS}
        self._tasks: dict[Any, asyncio.Task[None]] = {}
        self._acknowledged: set[Any] = set()

    # ---- from the client ----

    def from_client(self, line: bytes) -> None:
        """One line from the client, without its end."""
        for message, own_line in wire.read(line):
            if own_line:
                self._take(message)
            else:
                self._send(message)

    def _take(self, message: Message) -> None:
        method, id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            for session in self.sessions.values():
                if session.has_asked(id):
                    session.from_client(wire.encode(message).rstrip())
        elif not wire.is_id(id):
            self._notify(message)
        elif method == "ping":
            self._send(wire.response(id, {}))
        else:
            task = asyncio.get_running_loop().create_task(self._serve(message, method))
            self._tasks[id] = task
            task.add_done_callback(lambda done: self._ended(id, done))

    def _notify(self, message: Message) -> None:
        line = wire.encode(message).rstrip()
        if message["method"] == "notifications/cancelled":
            params = message.get("params")
            task = self._tasks.get(params.get("requestId")) if isinstance(params, dict) else None
            if task is not None:
                task.cancel()
        for session in self.sessions.values():
            session.from_client(line)

    def _ended(self, id: Any, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id) is task:
            del self._tasks[id]
        if not task.cancelled() and task.exception() is not None:
            log.error("failsoft failed at a request", exc_info=task.exception())
            self._send(wire.failure(id, wire.INTERNAL_ERROR, "the proxy itself failed at this request"))

    async def _serve(self, message: Message, method: str) -> None:
        id, params = message["id"], message.get("params")
        if method == "initialize":
            answers = await self._ask_all(message)
            self._send({"jsonrpc": "2.0", "id": id, **merged_handshake(answers)})
        elif method == "server/discover":
            answers = await self._ask_all(message)
            self._send({"jsonrpc": "2.0", "id": id, **merged_discovery(answers)})
        elif method in _LISTS:
            self._send(wire.response(id, await self._list(method, message)))
        elif method == "subscriptions/listen":
            await self._listen(message)
        elif method == "logging/setLevel":
            await self._ask_all(message)
            self._send(wire.response(id, {}))
        elif isinstance(params, dict) and (owner := await self._owner(method, params, message)) is not None:
            self._hand_on(owner, message)
        else:
            self._send({**await self._ask_in_turn(message), "id": id})

    async def _listen(self, message: Message) -> None:
        """Listen to all servers at once, until none of them has anything to say any more."""
        ids = {name: wire.new_request_id() for name in self.sessions}
        for name, own in ids.items():
            self._ports[name].subscriptions[own] = message["id"]
        asked = [self._ask(name, message["method"], message.get("params"), own) for name, own in ids.items()]
        try:
            answers = await asyncio.gather(*asked)
        except asyncio.CancelledError:
            for name, own in ids.items():
                told = wire.notification("notifications/cancelled", {"requestId": own})
                self.sessions[name].from_client(wire.encode(told).rstrip())
            raise
        finally:
            self._acknowledged.discard(message["id"])
            for name, own in ids.items():
                del self._ports[name].subscriptions[own]
        best = next((answer for answer in answers if "result" in answer), answers[0])
        if isinstance(best.get("result"), dict):
            meta = {**(best["result"].get("_meta") or {}), _SUBSCRIPTION: message["id"]}
            best = {**best, "result": {**best["result"], "_meta": meta}}
        self._send({**best, "id": message["id"]})

    def is_first(self, id: Any) -> bool:
        """Whether nobody has acknowledged this subscription yet: the client hears that once."""
        known = id in self._acknowledged
        self._acknowledged.add(id)
        return not known

    # ---- whose it is ----

    async def _owner(self, method: str, params: Message, like: Message) -> tuple[str, Message] | None:
        """The server that a request is for, and its parameters as that server knows them; None where nobody's."""
        if method in _NAMED:
            found = await self._find(_NAMED[method], params.get("name"), like)
            return None if found is None else (found[0], {**params, "name": found[1]})
        if method in _BY_URI:
            found = await self._find("resources/list", params.get("uri"), like)
            return None if found is None else (found[0], params)
        ref = params.get("ref")
        if method == "completion/complete" and isinstance(ref, dict):
            kind, key = ("prompts/list", "name") if "name" in ref else ("resources/templates/list", "uri")
            found = await self._find(kind, ref.get(key), like)
            return None if found is None else (found[0], {**params, "ref": {**ref, key: found[1]}})
        return None

    async def _find(self, method: str, name: Any, like: Message) -> tuple[str, str] | None:
        if not isinstance(name, str):
            return None
        if name not in self._owners[method]:
            await self._list(method, like)
        return self._owners[method].get(name)

    async def tool_headers(self, message: Message) -> tuple[Message, ToolHeaders]:
        """A call as its server knows it, and which arguments of that server's tools have headers over HTTP."""
        owner = await self._owner(message["method"], message["params"], message)
        if owner is None:
            return message, ToolHeaders()
        return await self.sessions[owner[0]].tool_headers({**message, "params": owner[1]})

    def _hand_on(self, owner: tuple[str, Message], message: Message) -> None:
        name, params = owner
        line = wire.encode({**message, "params": params}).rstrip()
        self.sessions[name].from_client(line)

    # ---- asking ----

    async def _ask(self, name: str, method: str, params: Any, id: Any = None) -> Message:
        id = wire.new_request_id() if id is None else id
        waiter: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._ports[name].waiting[id] = waiter
        try:
            self.sessions[name].from_client(wire.encode(wire.request(id, method, params)).rstrip())
            return await waiter
        finally:
            self._ports[name].waiting.pop(id, None)

    async def _ask_all(self, message: Message) -> dict[str, Message]:
        method, params = message["method"], message.get("params")
        answers = await asyncio.gather(*(self._ask(name, method, params) for name in self.sessions))
        return dict(zip(self.sessions, answers, strict=True))

    async def _ask_in_turn(self, message: Message) -> Message:
        answer = wire.failure(None, wire.METHOD_NOT_FOUND, "no server takes this")
        for name in self.sessions:
            answer = await self._ask(name, message["method"], message.get("params"))
            if "error" not in answer:
                break
        return answer

    async def _list(self, method: str, like: Message) -> Message:
        """All pages of all servers as one, under names that tell them apart."""
        field, key = _LISTS[method]
        pages = await asyncio.gather(*(self._all_of(name, method, field, like) for name in self.sessions))
        found: list[tuple[str, Message]] = [
            (name, item)
            for name, items in zip(self.sessions, pages, strict=True)
            for item in items
            if isinstance(item, dict) and isinstance(item.get(key), str)
        ]
        used = Counter(item[key] for _, item in found)
        owners: dict[str, tuple[str, str]] = {}
        shown: list[Message] = []
        for name, item in found:
            own = item[key]
            told = f"{name}{_JOINT}{own}" if key == "name" and used[own] > 1 else own
            if told not in owners:
                owners[told] = (name, own)
                shown.append(item if told == own else {**item, key: told})
        self._owners[method] = owners
        return {field: shown}

    async def _all_of(self, name: str, method: str, field: str, like: Message) -> list[Any]:
        given = like.get("params")
        meta = given.get("_meta") if isinstance(given, dict) else None
        base = {} if meta is None else {"_meta": {key: part for key, part in meta.items() if "/" in key}}
        items: list[Any] = []
        cursor: Any = None
        for _ in range(_MAX_PAGES):
            params = {**base, "cursor": cursor} if cursor is not None else base
            result = (await self._ask(name, method, params or None)).get("result")
            page = result.get(field) if isinstance(result, dict) else None
            if not isinstance(result, dict) or not isinstance(page, list):
                break  # a server without such things refuses the list
            items += page
            cursor = result.get("nextCursor")
            if not cursor:
                break
        return items

    # ---- the rest of a server's duties ----

    def client_blocked(self, blocked: bool) -> None:
        """The client does not read: no server is read."""
        for session in self.sessions.values():
            session.client_blocked(blocked)

    def _send(self, message: Message) -> None:
        self.client.send(wire.encode(message), message)

    async def start(self) -> None:
        """Start all servers; one that cannot be started is left out, and the others serve.

        Raises:
            AgentError: None of them can be started.
        """
        problem: AgentError | None = None
        for name, session in list(self.sessions.items()):
            try:
                await session.start()
            except AgentError as exc:
                log.warning("the server %s is left out: %s", name, exc)
                problem = exc
                await self.sessions.pop(name).aclose()
        if problem is not None and not self.sessions:
            raise problem

    async def drain(self, wait_s: float) -> None:
        """Let what is under way end by itself."""
        await asyncio.gather(*(session.drain(wait_s) for session in self.sessions.values()))
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=wait_s)

    async def aclose(self) -> None:
        """Cancel what is under way, end all servers."""
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*(session.aclose() for session in self.sessions.values()))
