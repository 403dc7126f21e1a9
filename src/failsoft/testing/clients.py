"""`ScriptedClient`: a model that says what a test wrote down for it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from failsoft.core.calls import ToolCall
from failsoft.core.context import new_id
from failsoft.core.errors import UsageError
from failsoft.core.turns import ModelTurn, TurnEnd, Usage
from failsoft.tools.dialects import calls_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.turns import ModelRequest

__all__ = ["ScriptedClient", "ask", "say"]

_USAGE = Usage(input_tokens=1, output_tokens=1, requests=1)


def say(text: str, *, end: TurnEnd | str = TurnEnd.FINISHED) -> ModelTurn:
    """A turn with text."""
    return ModelTurn(text=text, end=TurnEnd(end), usage=_USAGE)


def ask(*calls: ToolCall | tuple[str, Any], text: str = "", end: TurnEnd | str = TurnEnd.CALLS) -> ModelTurn:
    """A turn with calls: `ask(("get_weather", {"city": "Beijing"}), ...)`; ids are made where none are given."""
    made = tuple(call if isinstance(call, ToolCall) else ToolCall(new_id("toolu"), *call) for call in calls)
    return ModelTurn(text=text, calls=made, end=TurnEnd(end), usage=_USAGE)


class ScriptedClient:
    """A client for tests: gives its turns one after another and records what it was asked.

    A turn is one of: text (the final answer); a list of calls, each a `ToolCall` or `(name, arguments)`;
    a `ModelTurn` (see `say` and `ask`); a provider's message as a dict; an exception, which is raised;
    a function of the messages, sync or async, that gives any of these.

    Args:
        turns: What to answer, in order.
        then: What to answer when they are used up; default is to fail the test.
        dialect: The shapes that it is asked in.

    `requests` holds every `ModelRequest` in order, its messages copied as they stood.

    Raises:
        UsageError: One turn in place of a list of them.
    """

    def __init__(self, turns: Iterable[Any], *, then: Any = None, dialect: str = "anthropic") -> None:
        if isinstance(turns, str | bytes | dict | ModelTurn) or not isinstance(turns, Iterable):
            raise UsageError(
                f"ScriptedClient takes a list of turns, got {turns!r}\n\nhint: ScriptedClient(['hello'])"
            )
        self.dialect = dialect
        self.requests: list[ModelRequest] = []
        self._turns = list(turns)
        self._then = then

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """The next turn.

        Raises:
            Exception: The scripted one.
            UsageError: The script is over, or a turn is none.
        """
        messages: list[Mapping[str, Any]] = json.loads(json.dumps(list(request.messages), default=str))
        self.requests.append(replace(request, messages=messages))
        if len(self.requests) <= len(self._turns):
            turn = self._turns[len(self.requests) - 1]
        elif self._then is not None:
            turn = self._then
        else:
            raise UsageError(f"the script has {len(self._turns)} turns, and the agent asked for one more")
        made = await self._read(turn, messages)
        if request.on_text is not None and made.text:
            request.on_text(made.text)
        return made

    async def _read(self, turn: Any, messages: list[Mapping[str, Any]]) -> ModelTurn:
        if callable(turn) and not isinstance(turn, type):
            turn = turn(messages)
            if inspect.isawaitable(turn):
                turn = await turn
        if isinstance(turn, BaseException) or (isinstance(turn, type) and issubclass(turn, BaseException)):
            raise turn
        if isinstance(turn, str):
            return say(turn)
        if isinstance(turn, list | tuple):
            return ask(*turn)
        if isinstance(turn, dict):
            return _of_message(turn, self.dialect)
        if isinstance(turn, ModelTurn):
            return turn
        raise UsageError(
            f"a scripted turn cannot be {turn!r}\n\nhint: text, a list of calls, say(...), ask(...)"
        )

    def __repr__(self) -> str:
        return f"ScriptedClient({len(self._turns)} turns, {len(self.requests)} asked)"


def _of_message(message: dict[str, Any], dialect: str) -> ModelTurn:
    """A provider's message, sent back whole like a real one."""
    copied = json.loads(json.dumps(message))
    calls = tuple(calls_from(dialect, copied))
    content = copied.get("content") or ""
    if isinstance(content, list):
        content = "".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    cut = any(call.truncated for call in calls)
    end = TurnEnd.TRUNCATED if cut else TurnEnd.CALLS if calls else TurnEnd.FINISHED
    sent = {
        "role": "assistant",
        **{k: v for k, v in copied.items() if k not in ("stop_reason", "finish_reason")},
    }
    return ModelTurn(messages=(sent,), dialect=dialect, text=content, calls=calls, end=end, usage=_USAGE)
