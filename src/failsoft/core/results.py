"""The one result of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from failsoft.core.calls import ToolCall
from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from failsoft.core.calls import Attempt, Repair
    from failsoft.core.errors import AgentError

__all__ = ["CallSource", "Content", "DetailedResult", "ToolResult"]

Content = str | list[dict[str, Any]]


class ToolResult:
    """What came of one call: a value, or an error that the model can act on.

    Args:
        ok: Whether there is a value; also true for a degraded one.
        value: What the tool returned, as a Python value.
        error: Why there is none.
        call: The call as it was asked.
        attempts: How often the body was begun.
        duration_s: Seconds from admission to this result.
        degraded: Whether a fallback answered.
        degraded_by: Which fallback, in a word or a tool's name.
        replayed: Whether this is a recorded result of an earlier identical call.
        joined: Whether an identical call was at work already and this is its result: the body ran once for both.
        late: Whether the body answered after its time-out.
        output_cut: How many characters were cut from the text for the model.
        repairs: What was changed in the arguments before validation.
        doubt: Id of the doubt that this call opened or met.
        history: The attempts one by one; successes on the first attempt have none recorded.

    `content` is what the model reads: a string, or content blocks where the tool returns images or documents.
    It is made when first asked for.

    A plain slotted class and not a frozen dataclass: that costs 3 µs a call, this 0.4. Treat it as read-only.
    """

    __slots__ = ("_content", "_source", "value")

    ok: bool = True
    error: AgentError | None = None
    degraded: bool = False
    degraded_by: str | None = None
    replayed: bool = False
    joined: bool = False
    late: bool = False
    repairs: tuple[Repair, ...] = ()
    doubt: str | None = None
    history: tuple[Attempt, ...] = ()

    def __init__(self, value: Any, source: CallSource) -> None:
        self.value = value
        self._source = source
        self._content: tuple[Content, int] | None = None

    @property
    def attempts(self) -> int:
        """How often the body was begun."""
        return self._source.attempt

    @property
    def duration_s(self) -> float:
        """Seconds from admission to this result."""
        return self._source.duration_s

    @property
    def call(self) -> ToolCall:
        """The call as it was asked."""
        source = self._source
        return ToolCall(source.id, source.name, source.arguments, source.truncated)

    @property
    def content(self) -> Content:
        """What the model reads."""
        return self._rendered()[0]

    @property
    def output_cut(self) -> int:
        """How many characters were cut from the text for the model."""
        return self._rendered()[1]

    def _rendered(self) -> tuple[Content, int]:
        if self._content is None:
            self._content = self._source.render(self)
        return self._content

    @property
    def failure(self) -> AgentError:
        """The error of a result that is not `ok`: `if not result.ok: print(result.failure.kind)` needs no check for None.

        Raises:
            UsageError: There is a value, and no error.
        """
        if self.error is None:
            raise UsageError(f"{self!r} has a value and no failure\n\nhint: ask result.ok first")
        return self.error

    def unwrap(self) -> Any:
        """The value; raises the `AgentError` where there is none.

        Raises:
            AgentError: The result's own error.
        """
        if self.error is not None:
            raise self.error
        return self.value

    def __repr__(self) -> str:
        state = "ok" if self.ok else f"error={str(self.error.kind)!r}" if self.error is not None else "failed"
        marks = "".join(f", {mark}" for mark in ("degraded", "replayed", "late") if getattr(self, mark))
        return f"ToolResult({self._source.name!r}, {state}{marks}, attempts={self.attempts})"


class DetailedResult(ToolResult):
    """A result with anything unusual to tell; set by keyword so that the plain success stays cheap."""

    def __init__(
        self,
        value: Any,
        source: CallSource,
        attempts: int = 1,
        duration_s: float = 0.0,
        **details: Any,
    ) -> None:
        super().__init__(value, source)
        self._attempts, self._duration_s = attempts, duration_s
        self.__dict__.update(details)
        if self.error is not None:
            self.__dict__["ok"] = False

    @property
    def attempts(self) -> int:
        """How often the body was begun."""
        return self._attempts

    @property
    def duration_s(self) -> float:
        """Seconds from admission to this result."""
        return self._duration_s


class CallSource(Protocol):
    """Where a result comes from: knows the call as asked, and how to render a result for the model."""

    @property
    def id(self) -> str:
        """The provider's call id, or one made for it."""
        ...

    @property
    def duration_s(self) -> float:
        """Seconds from its beginning to its end."""
        ...

    name: str
    arguments: Any
    truncated: bool
    attempt: int

    def render(self, result: ToolResult) -> tuple[Content, int]:
        """The content for the model, and how many characters were cut from it."""
        ...
