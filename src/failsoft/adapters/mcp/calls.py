"""One `tools/call` on its way: what the client sent, the attempts at the server, and the answer that goes back."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from failsoft.adapters.mcp import wire
from failsoft.adapters.mcp.headers import HEADER_MISMATCH
from failsoft.adapters.mcp.listing import list_tools
from failsoft.classify import classify_response
from failsoft.core.calls import Progress
from failsoft.core.context import current
from failsoft.core.errors import InternalError, Unavailable
from failsoft.core.kinds import Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from failsoft.adapters.mcp.link import Link
    from failsoft.adapters.mcp.questions import Questions
    from failsoft.adapters.mcp.traffic import Waiter
    from failsoft.adapters.mcp.wire import Message
    from failsoft.core.context import CallContext
    from failsoft.core.errors import AgentError

__all__ = ["ClientCall", "NotYet", "body_for", "current_client_call"]

current_client_call: ContextVar[ClientCall | None] = ContextVar("failsoft_mcp_call", default=None)

# Of the time that an attempt has, how much it may wait for its server to be started again. It must not be all: an
# attempt that is cut off while it waits cannot say that nothing was sent.
_WAIT_SHARE = 0.8


class NotYet(Exception):
    """Control flow of this package: the server asks back before it does anything, and its question goes to the client."""

    def __init__(self, answer: Message) -> None:
        super().__init__("the server asks back")
        self.answer = answer


class ClientCall:
    """See the module.

    Args:
        message: The request, as the client sent it.
        line: The same as bytes, with the line's end.
        name: The tool's name.
        questions: What the server asks of a person; stops the time of attempts.
        asks_progress: Whether progress is asked for where the client did not.
    """

    __slots__ = (
        "answer",
        "answer_line",
        "asks_progress",
        "forsaken",
        "id",
        "line",
        "message",
        "name",
        "questions",
        "relisted",
        "remembers",
        "rpc_error",
        "tries",
    )

    def __init__(
        self, message: Message, line: bytes, *, name: str, questions: Questions, asks_progress: bool = False
    ) -> None:
        self.message, self.line, self.asks_progress = message, line, asks_progress
        self.questions = questions
        self.id = message["id"]
        self.name = name
        self.remembers = self.relisted = False
        self.tries = 0
        self.answer: Message | None = None
        self.answer_line = b""
        self.rpc_error: Message | None = None
        self.forsaken: list[Any] = []

    async def attempt(self, link: Link, name: str, values: dict[str, Any]) -> Any:
        """Ask the server once.

        Raises:
            AgentError: It answered with an error, was lost, or could not be asked.
            NotYet: It wants to know more first.
        """
        live = current()
        self.answer = self.rpc_error = None
        await link.ready(_left_s(live) * _WAIT_SHARE)
        if self.relisted:
            await list_tools(link, self.message, _left_s(live) * _WAIT_SHARE)
        message, line = self._outgoing(name, values, live)
        self.tries += 1
        id, token = message["id"], wire.progress_token(message)
        waiter = link.traffic.expect(id)
        if token is not None:
            waiter.touch = _toucher(live)
            link.traffic.tokens[token] = waiter
        try:
            with self.questions.attempt(live):
                link.write(line, message)
                answer = await waiter.future
        except asyncio.CancelledError:
            self._forsake(link, id, waiter, live)
            raise
        finally:
            link.traffic.waiting.pop(id, None)
            if token is not None:
                link.traffic.tokens.pop(token, None)
        return self._outcome(answer, waiter.line)

    def _outgoing(self, name: str, values: dict[str, Any], live: CallContext) -> tuple[Message, bytes]:
        """What is sent: the client's own bytes where nothing had to be changed."""
        params = self.message["params"]
        changed = name != params.get("name") or bool(getattr(live, "repairs", ()))
        wants_token = self.asks_progress and wire.progress_token(self.message) is None
        if not self.tries and not changed and not wants_token:
            return self.message, self.line
        id = wire.new_request_id() if self.tries else self.id
        if changed:
            params = {**params, "name": name, "arguments": values}
        if wants_token:
            params = {
                **params,
                "_meta": {**wire.meta_of(self.message), "progressToken": wire.new_request_id()},
            }
        message = {**self.message, "id": id, "params": params}
        return message, wire.encode(message)

    def _forsake(self, link: Link, id: Any, waiter: Waiter, live: CallContext) -> None:
        timed_out = bool(getattr(live, "fired", False))
        if not waiter.future.done() or waiter.future.cancelled():
            self.forsaken.append(id)
            reason = "no answer in time" if timed_out else "the client cancelled the call"
            link.forsake(id, reason, waiter, timed_out=timed_out)

    def _outcome(self, answer: Message, line: bytes) -> Any:
        error = answer.get("error")
        if isinstance(error, dict) and error.get("code") == HEADER_MISMATCH and not self.relisted:
            # The tool has other headers than when it was listed: the list is read again, and the call sent again.
            self.relisted = True
            raise Unavailable(
                "The server has changed the tool meanwhile; nothing was done.",
                reason="tool_changed",
                effect=Effect.NONE,
            )
        if error is not None or "result" not in answer:
            self.rpc_error = answer
            raise error_of(answer)
        self.answer, self.answer_line = answer, line
        result = answer["result"]
        if not isinstance(result, dict):
            return result
        asks_back = result.get("resultType", "complete") != "complete"
        if asks_back or (self.remembers and result.get("isError") is True):
            raise NotYet(answer)
        return result


def _left_s(live: CallContext) -> float:
    """Seconds that the running attempt has left."""
    due = getattr(live, "due", None)
    return live.remaining_s if due is None else min(live.remaining_s, max(0.0, due - live.clock.monotonic()))


def error_of(answer: Message) -> AgentError:
    """What a JSON-RPC error means."""
    found = classify_response(200, {}, answer, method="POST")
    return found if found is not None else InternalError("The server's answer is none.", reason="no_result")


def _toucher(live: CallContext) -> Callable[[Message], object]:
    def touch(message: Message) -> None:
        params = message["params"]
        done, total = params.get("progress"), params.get("total")
        live.report(
            Progress(
                float(done) if isinstance(done, int | float) else 0.0,
                float(total) if isinstance(total, int | float) else None,
                str(params.get("message") or ""),
            )
        )

    return touch


def body_for(link: Link, name: str) -> Callable[..., Awaitable[Any]]:
    """The function of a server's tool: asks the server, under the call that the client made."""

    async def body(**values: Any) -> Any:
        call = current_client_call.get()
        assert call is not None
        return await call.attempt(link, name, values)

    return body
