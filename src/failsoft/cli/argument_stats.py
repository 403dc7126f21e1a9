"""How often models get which argument wrong, and how many turns it takes them to mend it.

A field that is wrong again and again is the schema's fault: its name, its description or its type misleads.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from failsoft.ledger.entries import CallEntry

__all__ = ["WHOLE", "FieldStats", "argument_stats"]

WHOLE = "(the whole text)"
_INDEX = re.compile(r"\[\d+\]")
_WRONG = "invalid_argument"


@dataclass(slots=True, kw_only=True)
class FieldStats:
    """One field of one tool.

    Args:
        tool: The tool.
        path: Of the field, places in lists left out: `items[].price`; `WHOLE` for a text that could not be read.
        calls: All calls of the tool.
        wrong: Calls in which this field was wrong.
        repaired: Calls in which failsoft mended it by itself.
        problems: What was wrong, with how often.
        turns: For each time that the model mended it: how many wrong calls it took.
        given_up: How often no right call followed in its run.
    """

    tool: str
    path: str
    calls: int = 0
    wrong: int = 0
    repaired: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    turns: list[int] = field(default_factory=list)
    given_up: int = 0

    @property
    def mean_turns(self) -> float | None:
        """Wrong calls until a right one, on average; None where there was none."""
        return sum(self.turns) / len(self.turns) if self.turns else None


def argument_stats(entries: Iterable[CallEntry]) -> list[FieldStats]:
    """Statistics of calls in the order in which they ended; the most often wrong first.

    Turns are counted within a run. Calls without a run count as wrong only: nobody knows which call answered which.
    """
    found: dict[tuple[str, str], FieldStats] = {}
    calls: Counter[str] = Counter()
    waiting: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def of(tool: str, name: str) -> FieldStats:
        return found.setdefault((tool, name), FieldStats(tool=tool, path=name))

    for call in entries:
        calls[call.tool] += 1
        wrong = _wrong(call)
        for name, problem in wrong.items():
            stats = of(call.tool, name)
            stats.wrong += 1
            stats.problems[problem] += 1
        for name in _repaired(call):
            of(call.tool, name).repaired += 1
        if call.run_id is not None:
            pending = waiting[call.run_id, call.tool]
            for name in [name for name in pending if name not in wrong and WHOLE not in wrong]:
                of(call.tool, name).turns.append(pending.pop(name))
            pending.update(wrong.keys())
    for (_, tool), pending in waiting.items():
        for name in pending:
            of(tool, name).given_up += 1
    for stats in found.values():
        stats.calls = calls[stats.tool]
    return sorted(found.values(), key=lambda stats: (-stats.wrong, -stats.repaired, stats.tool, stats.path))


def _wrong(call: CallEntry) -> dict[str, str]:
    """The fields that were wrong, each with what was."""
    if call.kind != _WRONG:
        return {}
    problems = call.data.get("problems") or []
    return {_path(problem["field"]): problem["problem"] for problem in problems} or {
        WHOLE: call.reason or _WRONG
    }


def _repaired(call: CallEntry) -> set[str]:
    return {_path(repair["field"]) for repair in call.data.get("repairs") or []}


def _path(written: str) -> str:
    return _INDEX.sub("[]", written) or WHOLE
