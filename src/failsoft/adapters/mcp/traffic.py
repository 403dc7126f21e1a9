"""Who waits for which answer of a server, whoever that is: an attempt, a question of our own, or the client."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from failsoft.adapters.mcp import wire
from failsoft.core.errors import Unavailable
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.errors import AgentError

__all__ = ["LOOKS", "Traffic", "Waiter"]

log = logging.getLogger("failsoft.mcp")

LOOKS: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    }
)
"""Requests that change nothing, and may be sent to a server that was started again."""

_MAX_LATE: Final = 1000
_LISTEN: Final = "subscriptions/listen"


class Waiter:
    """Somebody who waits for the answer to one request."""

    __slots__ = ("future", "line", "since", "touch")

    def __init__(self, future: asyncio.Future[Message], since: float) -> None:
        self.future, self.since = future, since
        self.line = b""
        self.touch: Callable[[Message], object] | None = None


class Traffic:
    """See the module.

    Args:
        server: The server's name, for people.
        answered: Told of answers to requests that were passed on: the request, the answer, its bytes.
    """

    def __init__(self, server: str, answered: Callable[[Message, Message, bytes], object]) -> None:
        self._server, self._answered = server, answered
        self.waiting: dict[Any, Waiter] = {}
        self.passing: dict[Any, tuple[bytes, Message]] = {}
        self.tokens: dict[Any, Waiter] = {}
        self.late: dict[Any, Callable[[Message], object] | None] = {}

    @property
    def is_asked(self) -> bool:
        """Whether a client waits for an answer; who listens waits for none."""
        return any(request["method"] != _LISTEN for _, request in self.passing.values())

    def expect(self, id: Any) -> Waiter:
        """Have the answer to `id` kept for whoever waits, and not passed on."""
        loop = asyncio.get_running_loop()
        self.waiting[id] = waiter = Waiter(loop.create_future(), loop.time())
        return waiter

    def expect_late(self, id: Any) -> None:
        """Keep an ear open for an answer that nobody waits for any more."""
        self.waiting.pop(id, None)
        self.late[id] = None
        while len(self.late) > _MAX_LATE:
            del self.late[next(iter(self.late))]

    def take_answer(self, message: Message, line: bytes) -> None:
        """Give an answer to whoever waits for it."""
        id = message["id"]
        waiter = self.waiting.pop(id, None)
        if waiter is not None:
            if not waiter.future.done():
                waiter.line = line
                waiter.future.set_result(message)
        elif id in self.passing:
            _, request = self.passing.pop(id)
            self._answered(request, message, line)
        elif id in self.late:
            listener = self.late.pop(id)
            if listener is not None:
                listener(message)
        else:
            log.warning("%s answered a request that nobody made: id %r", self._server, id)

    def take_progress(self, message: Message) -> None:
        """Tell the call that a progress message is about."""
        params = message.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        waiter = self.tokens.get(token) if isinstance(token, str | int) else None
        if waiter is not None and waiter.touch is not None:
            waiter.touch(message)

    def fail(self, id: Any, error: AgentError) -> None:
        """A request that will not be answered, whoever waits for it."""
        waiter = self.waiting.pop(id, None)
        if waiter is not None:
            if not waiter.future.done():
                waiter.future.set_exception(error)
        elif id in self.passing:
            self.refuse(id, error.message, error.reason)

    def refuse(self, id: Any, text: str, reason: str = "server_lost") -> None:
        """Answer a request that was passed on, in the server's stead."""
        _, request = self.passing.pop(id)
        message = wire.failure(id, wire.CONNECTION_CLOSED, text, {"failsoft": {"reason": reason}})
        self._answered(request, message, wire.encode(message).rstrip())

    def refuse_all(self, text: str) -> None:
        """The same for all of them."""
        for id in list(self.passing):
            self.refuse(id, text)

    def lost(self, why: str) -> None:
        """The server is gone: what it was asked is answered with that, but for what can be asked again."""
        self.tokens.clear()
        self.late.clear()
        for waiter in self.waiting.values():
            if not waiter.future.done():
                waiter.future.set_exception(
                    Unavailable(
                        f"The server {self._server} was lost while it worked on this: {why}.",
                        reason="server_lost",
                        effect=Effect.POSSIBLE,
                    )
                )
        self.waiting.clear()
        for id, (_, request) in list(self.passing.items()):
            if request["method"] not in LOOKS:
                self.refuse(id, f"the server was lost while it worked on this: {why}")
