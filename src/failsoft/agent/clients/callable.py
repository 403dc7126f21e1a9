"""`CallableClient`: a function as a model, for endpoints without an SDK and for experiments."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.core.turns import ModelRequest

__all__ = ["CallableClient"]


class CallableClient:
    """Asks a function.

    Args:
        fn: Takes a `ModelRequest`, sync (run in a thread) or async; gives text, a provider's message as a dict in
            the dialect's shape, or a `ModelTurn`.
        dialect: The shapes that `request.messages` and `request.tools` are in, and the message that comes back.
    """

    def __init__(self, fn: Callable[[ModelRequest], Any], *, dialect: str = "openai") -> None:
        self.fn = fn
        self.dialect = dialect

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """One answer of the function.

        Raises:
            Exception: Whatever it raises.
            UsageError: It gave something else than what is listed.
        """
        if inspect.iscoroutinefunction(self.fn):
            given = await self.fn(request)
        else:
            given = await asyncio.to_thread(self.fn, request)
            if inspect.isawaitable(given):
                given = await given
        if isinstance(given, ModelTurn):
            return given
        if isinstance(given, str):
            return ModelTurn(text=given, dialect=self.dialect, usage=Usage(requests=1))
        if isinstance(given, dict):
            return _turn_of(given, self.dialect)
        raise UsageError(
            f"a model function must give text, a message as a dict, or a ModelTurn, got {given!r}\n\n"
            "hint: {'role': 'assistant', 'content': ..., 'tool_calls': [...]}"
        )

    def __repr__(self) -> str:
        return f"CallableClient({getattr(self.fn, '__name__', self.fn)!r})"


def _turn_of(given: dict[str, Any], dialect: str) -> ModelTurn:
    if dialect == "openai":
        from failsoft.agent.clients._chat import turn_of

        return turn_of(given if "choices" in given else {"choices": [{"message": given, **_finish(given)}]})
    if dialect == "anthropic":
        from failsoft.agent.clients._messages import turn_of as message_turn

        return message_turn({"role": "assistant", **given})
    if dialect == "openai-responses":
        from failsoft.agent.clients._responses import turn_of as response_turn

        return response_turn(given if "output" in given else {"output": [given]})
    calls = tuple(calls_from(dialect, given))
    end = TurnEnd.CALLS if calls else TurnEnd.FINISHED
    return ModelTurn(
        messages=(given,), dialect=dialect, text=str(given.get("content") or ""), calls=calls, end=end
    )


def _finish(message: dict[str, Any]) -> dict[str, Any]:
    return {"finish_reason": message.pop("finish_reason")} if "finish_reason" in message else {}
