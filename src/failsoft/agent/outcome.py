"""What came of a run: always a reason, each error once, what is in doubt, and what a person could do."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from failsoft.core.kinds import Effect, Owner
from failsoft.core.turns import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.agent.escalation import Case
    from failsoft.core.errors import AgentError
    from failsoft.core.results import ToolResult

__all__ = ["Outcome", "StopReason", "distinct_errors"]


class StopReason(StrEnum):
    """Why a run ended."""

    FINISHED = "finished"
    MAX_TURNS = "max_turns"
    MAX_CALLS = "max_calls"
    MAX_ERRORS = "max_errors"
    SAME_CALL = "same_call"
    UNKNOWN_TOOL = "unknown_tool"
    STALLED = "stalled"
    BUDGET = "budget"
    INVALID_OUTPUT = "invalid_output"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    MODEL_ERROR = "model_error"
    ESCALATED = "escalated"
    GAVE_UP = "gave_up"
    INTERRUPTED = "interrupted"


_SENTENCES = {
    StopReason.FINISHED: "The task is finished.",
    StopReason.MAX_TURNS: "Stopped: the model used all its turns.",
    StopReason.MAX_CALLS: "Stopped: the run used all its tool calls.",
    StopReason.MAX_ERRORS: "Stopped: too many calls failed.",
    StopReason.SAME_CALL: "Stopped: the model kept repeating a call that had failed.",
    StopReason.UNKNOWN_TOOL: "Stopped: the model kept asking for tools that are not there.",
    StopReason.STALLED: "Stopped: the model kept repeating calls that told it nothing new.",
    StopReason.BUDGET: "Stopped: the run's time or tokens are used up.",
    StopReason.INVALID_OUTPUT: "Stopped: the answer did not fit the form that was asked for.",
    StopReason.TRUNCATED: "Stopped: the answer was cut off by the output limit.",
    StopReason.REFUSED: "Stopped: the model refused.",
    StopReason.MODEL_ERROR: "Stopped: the model could not be reached or did not answer usably.",
    StopReason.ESCALATED: "Waiting for a person.",
    StopReason.GAVE_UP: "Stopped by a person.",
    StopReason.INTERRUPTED: "Interrupted.",
}

_ADVICE = {
    StopReason.MAX_TURNS: "Ask for less at once, or raise Limits.max_turns.",
    StopReason.MAX_CALLS: "Ask for less at once, or raise Limits.max_calls.",
    StopReason.MAX_ERRORS: "Look at the failures below; they have to be solved outside of the run.",
    StopReason.SAME_CALL: "Say in the task what the tool needs, or check the tool's description.",
    StopReason.UNKNOWN_TOOL: "Add the tool that was asked for, or say in the task which tools to use.",
    StopReason.STALLED: "Check whether the tool really answers; mark a tool that is asked repeatedly with poll=True.",
    StopReason.BUDGET: "Raise Limits.wall_s or Limits.tokens, or ask for less.",
    StopReason.INVALID_OUTPUT: "Use a simpler output model, or a stronger language model.",
    StopReason.TRUNCATED: "Raise the client's max_tokens, or ask for a shorter answer.",
    StopReason.ESCALATED: "Answer the question, then resume the run.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a run.

    Args:
        text: The model's answer; what there is of it where the run did not finish.
        output: The answer as an instance of `output`, where one was asked for.
        stop_reason: Why the run ended.
        messages: The whole conversation in the client's dialect; valid to send on.
        calls: The results of all calls, in order.
        errors: Each failure once, in order; the model's own failures too.
        doubts: Ids of the doubts that this run opened or met and that are not resolved.
        usage: What the model cost.
        run_id: The run's id.
        turns: How many answers the model gave.
        detail: One sentence about the stop, where there is more to say.
        case: What a person was asked, for a run that waits.
    """

    text: str = ""
    output: Any = None
    stop_reason: StopReason = StopReason.FINISHED
    messages: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[ToolResult, ...] = ()
    errors: tuple[AgentError, ...] = ()
    doubts: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    run_id: str = ""
    turns: int = 0
    detail: str = ""
    case: Case | None = None

    @property
    def finished(self) -> bool:
        """Whether the model came to an end of its own."""
        return self.stop_reason is StopReason.FINISHED

    def summary(self) -> str:
        """What was done, what is in doubt, what failed, and what a person could do; a few lines for people."""
        lines = [_SENTENCES[self.stop_reason] + (f" {self.detail}" if self.detail else "")]
        answered = [result for result in self.calls if result.ok]
        done = [result for result in answered if not (result.replayed or result.joined)]
        again = len(answered) - len(done)
        if done:
            lines.append(f"Done ({len(done)}): {_tally(done)}.")
        if again:
            lines.append(f"{again} more {'was' if again == 1 else 'were'} answered with the recorded result.")
        for doubt in self.doubts:
            lines.append(f"In doubt: {_doubted(self.calls, doubt)} ({doubt}).")
        for error in self.errors:
            lines.append(f"Failed: {_line(error)}")
        lines += [f"A person could: {advice}" for advice in self._advice()]
        return "\n".join(lines)

    def _advice(self) -> list[str]:
        advice = [_ADVICE[self.stop_reason]] if self.stop_reason in _ADVICE else []
        if self.doubts:
            advice.append("Find out whether what is in doubt happened, and resolve it: failsoft doubts.")
        if not self.finished:
            advice += [e.suggestion for e in self.errors if e.owner is Owner.HUMAN and e.suggestion]
        return list(dict.fromkeys(advice))


def distinct_errors(errors: list[AgentError]) -> tuple[AgentError, ...]:
    """Each failure once: the same tool, kind, reason and message count as one."""
    seen: dict[tuple[str, str, str, str], AgentError] = {}
    for error in errors:
        key = (str(error.context.get("tool", "")), str(error.kind), error.reason, error.message)
        seen.setdefault(key, error)
    return tuple(seen.values())


def _tally(results: list[ToolResult]) -> str:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.call.name] = counts.get(result.call.name, 0) + 1
    return ", ".join(name if count == 1 else f"{name} × {count}" for name, count in counts.items())


def _doubted(calls: tuple[ToolResult, ...], doubt: str) -> str:
    return next(
        (f"{result.call.name} may have happened" for result in calls if result.doubt == doubt), "a call"
    )


def _line(error: AgentError) -> str:
    effect = " It may have had an effect." if error.effect is Effect.POSSIBLE else ""
    tool = error.context.get("tool")
    return f"{f'{tool}: ' if tool else ''}{error} [{error.kind}/{error.reason}]{effect}"
