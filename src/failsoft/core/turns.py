"""A model as the agent sees it: one request goes out, one turn comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from failsoft.core.calls import ToolCall

__all__ = ["Client", "ModelRequest", "ModelTurn", "TurnEnd", "Usage"]


class TurnEnd(StrEnum):
    """Why a model stopped writing, in one vocabulary for all providers."""

    FINISHED = "finished"
    CALLS = "calls"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    PAUSED = "paused"
    CONTEXT_FULL = "context_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, as the provider counts them; add two with `+`.

    Args:
        input_tokens: Read, cached ones not included.
        output_tokens: Written.
        cache_read_tokens: Read from the provider's prompt cache.
        cache_write_tokens: Written to it.
        requests: Model requests that were answered.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0

    @property
    def total_tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            requests=self.requests + other.requests,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model.

    Args:
        dialect: The provider's shapes that `messages` and `tools` are in; a word of `harness.schemas`.
        messages: The conversation in those shapes, checked for pairing and order.
        tools: The tool list in those shapes; the same in every request of a run, so that prompt caches hold.
        system: What the model is to be.
        withhold_tools: The model may not call now, although the tools stay listed.
        max_tokens: Most tokens to write; None for the client's own limit.
        timeout_s: Seconds that are left for the answer; the client's own time-out where it is shorter.
        run_id: The run that it belongs to.
        on_text: Takes pieces of text as they come; the client streams where it is given.
        tool_dialect: The shapes of `tools`, where they are not those of `dialect`.
        render: Gives messages and tools in other dialects.
    """

    dialect: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    system: str | None = None
    withhold_tools: bool = False
    max_tokens: int | None = None
    timeout_s: float | None = None
    run_id: str = ""
    on_text: Callable[[str], object] | None = None
    tool_dialect: str = ""
    render: Callable[[str, str], tuple[list[dict[str, Any]], list[dict[str, Any]]]] | None = None

    def to(self, dialect: str, tool_dialect: str | None = None) -> ModelRequest:
        """The same request in another dialect; itself where it is in that one."""
        tools_in = tool_dialect or dialect
        if self.render is None or (dialect, tools_in) == (self.dialect, self.tool_dialect or self.dialect):
            return self
        messages, tools = self.render(dialect, tools_in)
        return replace(self, dialect=dialect, tool_dialect=tools_in, messages=messages, tools=tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """What a model answered.

    Args:
        messages: The answer as the provider wrote it, to be sent back whole: thinking and unknown blocks untouched.
            One message, or the output items of the Responses API.
        dialect: The shapes they are in.
        text: The text for people in it.
        calls: The calls in it, with distinct ids.
        end: Why the model stopped.
        usage: What it cost.
        model: Which model answered, as the provider says.
        detail: The provider's own word for the end, or its explanation of a refusal.
        raw: The response as it came.
    """

    messages: tuple[Mapping[str, Any], ...] = ()
    dialect: str = "anthropic"
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    end: TurnEnd = TurnEnd.FINISHED
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    model: str = ""
    detail: str = ""
    raw: Any = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "end", TurnEnd(self.end))
        put(self, "messages", tuple(self.messages))
        put(self, "calls", tuple(self.calls))


class Client(Protocol):
    """Whatever can answer a `ModelRequest`."""

    @property
    def dialect(self) -> str:
        """The shapes that it wants `messages` and `tools` in."""
        ...

    async def complete(self, request: ModelRequest) -> ModelTurn:
        """One answer. No retries of its own: the loop retries by one policy for every client.

        Raises:
            Exception: Whatever went wrong; the loop classifies it.
        """
        ...
