"""Asking a person: what is asked, and what may be answered."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError

__all__ = ["Answer", "Case", "answer_of"]

Action = Literal["guide", "correct", "approve", "give_up", "wait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a person is asked.

    Args:
        reason: The limit that was reached, as a stop reason, or `approval`.
        question: One or two sentences for the person.
        run_id: The run that waits.
        call: The call in question, where it is about one.
        errors: The failures that led here, each once.
    """

    reason: str
    question: str
    run_id: str = ""
    call: ToolCall | None = None
    errors: tuple[AgentError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person answered; make it with one of the class methods."""

    action: Action
    text: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def guide(cls, text: str) -> Answer:
        """Tell the model something and let it go on."""
        return cls(action="guide", text=text)

    @classmethod
    def correct(cls, arguments: Mapping[str, Any], text: str = "") -> Answer:
        """Run the call in question with these arguments instead."""
        return cls(action="correct", arguments=dict(arguments), text=text)

    @classmethod
    def approve(cls) -> Answer:
        """Run the call in question exactly as it is."""
        return cls(action="approve")

    @classmethod
    def give_up(cls, text: str = "") -> Answer:
        """End the run."""
        return cls(action="give_up", text=text)

    @classmethod
    def wait(cls) -> Answer:
        """Nobody can answer now: end here, and go on with `agent.resume` when somebody can."""
        return cls(action="wait")


async def answer_of(ask: Callable[[Case], Any], case: Case) -> Answer:
    """Ask, and read the answer: text is guidance, None means that nobody can answer now.

    Raises:
        UsageError: `ask` returned something else.
    """
    given = ask(case)
    if inspect.isawaitable(given):
        given = await given
    if given is None:
        return Answer.wait()
    if isinstance(given, str):
        return Answer.guide(given)
    if isinstance(given, Answer):
        return given
    raise UsageError(
        f"on_escalate must return an Answer, text or None, got {given!r}\n\nhint: Answer.guide('use order 42')"
    )
