"""Notices when a run goes in circles: the same failing call, made-up names, the same answer again, too much of all.

    a call that failed     hint at `same_call_failures`, not run after that, stop when it is asked for once more
    the same success       hint at `stall_repeats`, not run at twice as many, stop after that
    unknown tools          hint at `unknown_tool_calls` turns in a row, stop at the next
    max_errors, max_calls  hint when reached, stop at the next call

Rules of this file
- Calls are the same when their names and canonical arguments are: the order of keys does not matter.
- A success with news (a result not seen before for that call) is progress: counts of other calls begin anew.
  Alternating pairs and cycles bring no news, so they are found like single repeats.
- Counts move once a turn is over; a model that has not read the hint yet is not held to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

from failsoft.agent.outcome import StopReason
from failsoft.core.kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.agent.limits import Limits
    from failsoft.core.calls import ToolCall
    from failsoft.core.errors import AgentError
    from failsoft.core.results import ToolResult

__all__ = ["Lesson", "Ruling", "Watch", "canonical"]

# The runtime's own refusals and what no model caused: repeating such a call is no sign of a loop.
_NOT_COUNTED = frozenset(
    {ErrorKind.UNKNOWN_TOOL, ErrorKind.CANCELLED, ErrorKind.OVERLOADED, ErrorKind.BUDGET_EXHAUSTED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What to do with a call that was asked for.

    Args:
        action: `run` it, `block` it (answer without running), or `stop` the run (not run either).
        reason: The limit behind it.
        message: For the model: what was refused and why, in other words than the hint before.
    """

    action: Literal["run", "block", "stop"] = "run"
    reason: StopReason | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a turn's results showed.

    Args:
        notes: Hints for the model, to stand after the results.
        stop: Why the run should stop now; None to go on.
    """

    notes: tuple[str, ...] = ()
    stop: StopReason | None = None


@dataclass(slots=True)
class _Trace:
    """What is known of one call."""

    failures: int = 0
    repeats: int = 0
    blocked: bool = False
    not_before: float = 0.0
    last: bytes = b""
    early: bool = field(default=False)

    def forgive(self) -> None:
        self.failures, self.repeats, self.blocked = 0, 0, False


_RUN = Ruling()


class Watch:
    """One run's memory of calls. Free of I/O; ask `judge` before a turn's calls run, tell `learn` after.

    Args:
        limits: When to speak up.
        now: Monotonic seconds.
        polls: Whether a tool is asked repeatedly on purpose.
        tool_names: What to list for a model that makes names up.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        now: Callable[[], float],
        polls: Callable[[str], bool] = lambda _: False,
        tool_names: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.limits = limits
        self.calls = 0
        self.errors = 0
        self._now = now
        self._polls = polls
        self.tool_names = tool_names
        self._unknown_turns = 0
        self._spare_errors = limits.max_errors
        self._spare_calls = limits.max_calls
        self._traces: dict[str, _Trace] = {}
        self._seen: set[bytes] = set()

    def judge(self, calls: Sequence[ToolCall]) -> list[Ruling]:
        """What to do with each of a turn's calls."""
        rulings: list[Ruling] = []
        for call in calls:
            rulings.append(self._judge(call, sum(1 for ruling in rulings if ruling.action == "run")))
        for call, ruling in zip(calls, rulings, strict=True):
            if ruling.action == "block" and ruling.reason in (StopReason.SAME_CALL, StopReason.STALLED):
                self._trace(call).blocked = True
        return rulings

    def _judge(self, call: ToolCall, before: int) -> Ruling:
        limits, trace = self.limits, self._trace(call)
        if self.errors >= self._spare_errors:
            message = (
                f"{call.name} was not run: {self.errors} calls of this run have failed, which is its limit."
            )
            return Ruling(action="stop", reason=StopReason.MAX_ERRORS, message=message)
        if self.calls + before >= self._spare_calls:
            message = f"{call.name} was not run: the {limits.max_calls} calls of this run are used up."
            action: Literal["block", "stop"] = "block" if before else "stop"
            return Ruling(action=action, reason=StopReason.MAX_CALLS, message=message)
        trace.early = self._now() < trace.not_before
        if trace.failures >= limits.same_call_failures:
            message = (
                f"{call.name} was not run: this exact call has failed {trace.failures} times already, "
                "and would fail again."
            )
            return Ruling(action=_step(trace), reason=StopReason.SAME_CALL, message=message)
        if trace.repeats >= 2 * limits.stall_repeats:
            message = (
                f"{call.name} was not run: this exact call has given the same result {trace.repeats} times. "
                "Work with that result."
            )
            return Ruling(action=_step(trace), reason=StopReason.STALLED, message=message)
        return _RUN

    def learn(self, results: Sequence[ToolResult]) -> Lesson:
        """Take in what the calls that were run gave; hints for the model, and whether to stop."""
        self.calls += len(results)
        failed = sum(1 for result in results if not result.ok)
        self.errors += failed
        notes: list[str] = []
        for result in results:
            note = self._learn(result)
            if note and note not in notes:
                notes.append(note)
        unknown = [r for r in results if r.error is not None and r.error.kind == ErrorKind.UNKNOWN_TOOL]
        stop = self._count_unknown(unknown, any(result.ok for result in results), notes)
        if failed and self.errors >= self._spare_errors:
            notes.append(
                f"{self.errors} calls have failed; no more will be run. Answer now with what is known."
            )
        elif self.calls >= self._spare_calls:
            notes.append(
                "All calls of this run are used up; no more will be run. Answer now with what is known."
            )
        return Lesson(notes=tuple(notes), stop=stop)

    def forgive(self) -> None:
        """A person helped: counts begin anew, and the run may fail and call as often again."""
        for trace in self._traces.values():
            trace.forgive()
        self._unknown_turns = 0
        if self.errors >= self._spare_errors:
            self._spare_errors = self.errors + self.limits.max_errors
        if self.calls >= self._spare_calls:
            self._spare_calls = self.calls + self.limits.max_calls

    def dump(self) -> dict[str, Any]:
        """What is remembered, JSON-able."""
        return {
            "calls": self.calls,
            "errors": self.errors,
            "unknown_turns": self._unknown_turns,
            "spare": [self._spare_errors, self._spare_calls],
            "traces": {
                key: [trace.failures, trace.repeats, trace.blocked, trace.last.hex()]
                for key, trace in self._traces.items()
            },
            "seen": [one.hex() for one in self._seen],
        }

    def load(self, stored: dict[str, Any]) -> None:
        """Remember what `dump` gave."""
        self.calls, self.errors = stored["calls"], stored["errors"]
        self._unknown_turns = stored["unknown_turns"]
        self._spare_errors, self._spare_calls = stored["spare"]
        for key, (failures, repeats, blocked, last) in stored["traces"].items():
            trace = _Trace(failures=failures, repeats=repeats, blocked=blocked, last=bytes.fromhex(last))
            self._traces[key] = trace
        self._seen = {bytes.fromhex(one) for one in stored["seen"]}

    def _learn(self, result: ToolResult) -> str:
        trace = self._trace(result.call)
        if result.error is not None:
            return self._failed(trace, result, result.error)
        trace.failures, trace.blocked = 0, False
        print_ = _fingerprint(result)
        if print_ not in self._seen:
            self._seen.add(print_)
            for other in self._traces.values():
                other.forgive()
        if self._polls(result.call.name):
            return ""
        trace.repeats = trace.repeats + 1 if trace.last == print_ else 1
        trace.last = print_
        if trace.repeats < self.limits.stall_repeats:
            return ""
        return (
            f"{result.call.name} has given the same result {trace.repeats} times for the same arguments. "
            "Asking again brings nothing new."
        )

    def _failed(self, trace: _Trace, result: ToolResult, error: AgentError) -> str:
        trace.repeats = 0
        later = error.retryable or error.retry_after_s is not None
        early, trace.early = trace.early, False
        if error.retry_after_s is not None:
            trace.not_before = self._now() + error.retry_after_s
        if error.kind in _NOT_COUNTED or result.replayed or (later and not early):
            return ""
        trace.failures += 1
        if trace.failures < self.limits.same_call_failures:
            return ""
        again = "too early " if later else ""
        return (
            f"The same call of {result.call.name} has now failed {trace.failures} times {again}in a row. "
            "It will not be run again as it is: change the arguments, or go another way."
        )

    def _count_unknown(
        self, unknown: list[ToolResult], progress: bool, notes: list[str]
    ) -> StopReason | None:
        if not unknown:
            self._unknown_turns = 0
            return None
        if not progress:
            self._unknown_turns += 1
        if self._unknown_turns > self.limits.unknown_tool_calls:
            return StopReason.UNKNOWN_TOOL
        if self._unknown_turns == self.limits.unknown_tool_calls:
            names = ", ".join(list(self.tool_names())[:40]) or "none"
            notes.append(
                f"{unknown[-1].call.name} does not exist. The tools are: {names}. There are no others."
            )
        return None

    def _trace(self, call: ToolCall) -> _Trace:
        return self._traces.setdefault(canonical(call), _Trace())


def _step(trace: _Trace) -> Literal["block", "stop"]:
    return "stop" if trace.blocked else "block"


def canonical(call: ToolCall) -> str:
    """Name and arguments in one spelling, so that the order of keys or blanks does not hide a repeat."""
    given: Any = call.arguments
    if isinstance(given, bytes):
        given = given.decode("utf-8", "replace")
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return f"{call.name} {given}"
    if isinstance(given, Mapping):
        given = dict(given)
    return f"{call.name} {_dump(given or {})}"


def _fingerprint(result: ToolResult) -> bytes:
    content = result.content
    text = content if isinstance(content, str) else _dump(content)
    return blake2b(
        f"{canonical(result.call)}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
