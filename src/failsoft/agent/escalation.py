"""Asking a person: what is asked, and what may be answered."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError

__all__ = ["Answer", "Case", "answer_of", "why_not"]

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
        tool_version: The declared version of the tool in question.
    """

    reason: str
    question: str
    run_id: str = ""
    call: ToolCall | None = None
    errors: tuple[AgentError, ...] = ()
    tool_version: str = ""

    @property
    def code(self) -> str:
        """What an approval is bound to, as a short word: the tool, its version and the exact arguments."""
        if self.call is None:
            return ""
        bound = [self.call.name, self.tool_version, _canonical(self.call.arguments)]
        return hashlib.sha256(json.dumps(bound).encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person answered; make it with one of the class methods."""

    action: Action
    text: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""

    @classmethod
    def guide(cls, text: str) -> Answer:
        """Tell the model something and let it go on."""
        return cls(action="guide", text=text)

    @classmethod
    def correct(cls, arguments: Mapping[str, Any], text: str = "") -> Answer:
        """Run the call in question with these arguments instead."""
        return cls(action="correct", arguments=dict(arguments), text=text)

    @classmethod
    def approve(cls, code: str = "") -> Answer:
        """Run the call in question exactly as it is.

        Args:
            code: `case.code` of what was approved: a run that asks for something else by now asks again.
        """
        return cls(action="approve", code=code)

    @classmethod
    def give_up(cls, text: str = "") -> Answer:
        """End the run."""
        return cls(action="give_up", text=text)

    @classmethod
    def wait(cls) -> Answer:
        """Nobody can answer now: end here, and go on with `agent.resume` when somebody can."""
        return cls(action="wait")


def why_not(answer: Answer, asked: Case | None, case: Case) -> str:
    """Why an answer to an earlier question does not fit this one; empty where it does.

    Args:
        answer: What was answered.
        asked: The question as it was stored.
        case: The question as it is now.
    """
    if answer.action not in ("approve", "correct") or case.call is None:
        return ""
    name = case.call.name
    if answer.code and answer.code != case.code:
        return f"The approval {answer.code} is not for this call of {name}, whose code is {case.code}."
    if asked is None or asked.code == case.code:
        return ""
    if asked.call is not None and asked.call.name == name and asked.tool_version != case.tool_version:
        now = case.tool_version or "gone"
        return f"{name} was version {asked.tool_version} when it was asked for; now it is {now}: the answer does not hold."
    return "The answer was for another call."


def _canonical(arguments: Any) -> str:
    """One text for equal arguments, however they are written; the raw text where it is no JSON."""
    if isinstance(arguments, bytes):
        arguments = arguments.decode("utf-8", "backslashreplace")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return str(arguments)
    return json.dumps(arguments, sort_keys=True, default=str)


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
