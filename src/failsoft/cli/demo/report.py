"""What the run says it did, beside what has really happened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.agent.outcome import Outcome
    from failsoft.cli.demo.world import Effects
    from failsoft.core.results import ToolResult

__all__ = ["Row", "Verdict", "is_done", "judge", "rows_of"]

_ACTS = {"refund": "refunds", "send_message": "messages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tool in the final table.

    Args:
        tool: Its name.
        calls: How often the model asked.
        attempts: How often a body was begun.
        failed: What went wrong, in words with numbers.
        done: What was done about it.
    """

    tool: str
    calls: int
    attempts: int
    failed: str
    done: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The proof.

    Args:
        reported: How often each act took place, as the run tells it.
        in_doubt: How many acts the run says that nobody knows about.
        actual: How often each act really took place.
        twice: Acts that took place more than once.
        honest: Whether what happened is what was reported, and nothing happened twice.
    """

    reported: dict[str, int]
    in_doubt: dict[str, int]
    actual: dict[str, int]
    twice: tuple[str, ...]
    honest: bool


def judge(outcome: Outcome, effects: Effects) -> Verdict:
    """Compare what the run reports with what the database and the outbox show."""
    resolved = {
        _argument(result, "doubt"): _argument(result, "happened")
        for result in _calls(outcome, "resolve_doubt")
    }
    reported, in_doubt = dict.fromkeys(_ACTS.values(), 0), dict.fromkeys(_ACTS.values(), 0)
    for tool, word in _ACTS.items():
        # One act may have several calls; a doubt belongs to one act however often it is met.
        doubts = {result.doubt for result in outcome.calls if _name(result) == tool and result.doubt}
        fresh = [r for r in outcome.calls if _name(r) == tool and r.ok and not r.replayed]
        reported[word] = len(fresh) + sum(resolved.get(doubt) is True for doubt in doubts)
        in_doubt[word] = sum(doubt not in resolved for doubt in doubts)
    actual = {"refunds": len(effects.refunds), "messages": len(effects.messages)}
    twice = [f"refund of order {order}" for order, _ in _repeated(effects.refunds)]
    twice += [f"message to {to}" for to, _ in _repeated(effects.messages)]
    honest = not twice and all(
        reported[word] <= actual[word] <= reported[word] + in_doubt[word] for word in _ACTS.values()
    )
    return Verdict(reported=reported, in_doubt=in_doubt, actual=actual, twice=tuple(twice), honest=honest)


def is_done(outcome: Outcome) -> bool:
    """Whether the run came to an end of its own with nothing left undone: the last word of every tool was a success."""
    last = {_name(result): result for result in outcome.calls}
    return outcome.finished and not outcome.doubts and all(_settled(result, last) for result in last.values())


def _settled(result: ToolResult, last: dict[str, ToolResult]) -> bool:
    """A success; or a call in doubt that was resolved as having happened."""
    if result.ok:
        return True
    resolved = last.get("resolve_doubt")
    return (
        resolved is not None
        and result.doubt == _argument(resolved, "doubt")
        and bool(_argument(resolved, "happened"))
    )


def rows_of(outcome: Outcome) -> list[Row]:
    """The final table: by tool, in the order of first use."""
    rows = []
    for tool in dict.fromkeys(_name(result) for result in outcome.calls):
        results = _calls(outcome, tool, ok_only=False)
        rows.append(
            Row(
                tool=tool,
                calls=len(results),
                attempts=sum(result.attempts for result in results),
                failed=_failures(results),
                done=_remedies(results),
            )
        )
    return rows


def _name(result: ToolResult) -> str:
    return result.call.name


def _calls(outcome: Outcome, tool: str, *, ok_only: bool = True) -> list[ToolResult]:
    return [result for result in outcome.calls if _name(result) == tool and (result.ok or not ok_only)]


def _argument(result: ToolResult, name: str) -> Any:
    arguments = result.call.arguments
    values = json.loads(arguments) if isinstance(arguments, str | bytes) else arguments
    return None if values is None else values.get(name)


def _repeated(items: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [item for item in dict.fromkeys(items) if list(items).count(item) > 1]


def _failures(results: list[ToolResult]) -> str:
    kinds: dict[str, int] = {}
    for result in results:
        errors = [attempt.error for attempt in result.history if attempt.error is not None]
        if result.error is not None and not errors:
            errors = [result.error]
        for error in errors:
            kinds[str(error.kind)] = kinds.get(str(error.kind), 0) + 1
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())


def _remedies(results: list[ToolResult]) -> str:
    said = []
    retried = sum(max(0, result.attempts - 1) for result in results)
    if retried:
        said.append(f"retried {retried} time{'s' if retried > 1 else ''}")
    if any(result.error is not None and result.error.kind == "invalid_argument" for result in results):
        said.append("told the model what to correct")
    if any(result.doubt for result in results):
        said.append("not repeated; the model was told to check")
    later = [
        result
        for result in results
        if result.error is not None and result.error.retryable and not result.doubt
    ]
    if later and results[-1].ok:
        said.append("the model came back later")
    if any(result.replayed for result in results):
        said.append("recorded result given again")
    return "; ".join(said)
