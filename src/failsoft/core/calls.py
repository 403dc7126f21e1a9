"""A call, an attempt at it, and its one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.errors import AgentError

__all__ = ["Attempt", "NotDone", "Progress", "Repair", "ToolCall"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One request of a model to run a tool.

    Args:
        id: The provider's call id; results are paired by it.
        name: The tool's name, as sent.
        arguments: The raw text or mapping, as sent; None when nothing was sent.
        truncated: Whether the output limit cut the call off.
    """

    id: str
    name: str
    arguments: str | bytes | Mapping[str, Any] | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of a tool's body, or one refusal to begin it.

    Args:
        number: Counts from 1.
        tool: The tool that ran; a fallback's name differs from the call's.
        queued_s: Seconds spent waiting for permits.
        duration_s: Seconds that the body ran.
        error: Why it failed; None for a success.
        wait_s: Seconds waited after it, before the next attempt.
    """

    number: int
    tool: str
    queued_s: float = 0.0
    duration_s: float = 0.0
    error: AgentError | None = None
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One change that was made to the arguments before they were validated.

    Args:
        rule: Stable word for what was done, such as `markdown_fence`.
        field: Path of the field, empty for the whole text.
        detail: One short sentence.
    """

    rule: str
    field: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """A step that a tool reports while it works.

    Args:
        done: How much is done, in the tool's own unit.
        total: How much there is, where known.
        message: One line for people.
    """

    done: float
    total: float | None = None
    message: str = ""


class NotDone:
    """What a tool's `verify` returns when it found that the call did not happen; the class itself will do."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NotDone()"
