"""What is counted: final states, effects, what was claimed of them, and what the planner believes at the end.

Nothing is judged by what a system says of itself: the world counts what it has carried out.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.chaos.planner import Planner
    from bench.chaos.reading import Reading
    from bench.chaos.world import Step, Task, World

__all__ = ["Score", "Witness", "judged"]


class Witness:
    """Compares each answer with what the world has carried out meanwhile; the planner knows nothing of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._before = 0
        self.wrong: list[str] = []
        self.untold = 0

    def hear(self, step: Step, reading: Reading | None) -> None:
        """Told each step before it is asked for, and its answer after it."""
        if not step.writes:
            return
        count = self._world.done.count(step.effect)
        if reading is None:
            self._before = count
            return
        happened = count > self._before
        if reading.says == "done" and not count:
            self.wrong.append(f"{step.name}: said done, was not")
        elif reading.denies and happened:
            self.wrong.append(f"{step.name}: said not done, was")
        elif reading.says == "unclear" and happened:
            self.untold += 1


@dataclass
class Score:
    """Sums over tasks and seeds.

    Args:
        tasks: How many.
        exact: Those whose final state equals the ground truth's.
        exact_by: The same by task suite: tasks and exact ones.
        duplicated: Effects carried out more often than the ground truth has them, where once more is not the same.
        strange: Effects that the ground truth does not have at all.
        lost: Effects never carried out.
        wrong_claims: Answers that said done of what was not, or not done of what was.
        untold: Answers to something that happened which said nothing of that.
        wrong_beliefs: Writes of which the planner is wrong at the end.
        silent: Tasks that are not exact while the planner believes that all is done.
        doubts_told: Answers that said in so many words that something may have happened.
        secrets: Answers with the service's key in them.
        calls: Calls that the planner made.
        virtual_s: Seconds that the tasks took.
        cpu_s: Seconds of the processor, the domains' and the planner's share included.
        runs: Tasks that were really run; the others met no fault, and are as without faults.
        misses: Tasks that are not exact or of which something wrong was said or believed.
    """

    tasks: int = 0
    exact: int = 0
    exact_by: dict[str, list[int]] = field(default_factory=dict)
    duplicated: int = 0
    strange: int = 0
    lost: int = 0
    wrong_claims: int = 0
    untold: int = 0
    wrong_beliefs: int = 0
    silent: int = 0
    doubts_told: int = 0
    secrets: int = 0
    calls: int = 0
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    runs: int = 0
    misses: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Add another's sums to these."""
        for name, value in vars(other).items():
            if name == "exact_by":
                for suite, (tasks, exact) in value.items():
                    mine = self.exact_by.setdefault(suite, [0, 0])
                    mine[0] += tasks
                    mine[1] += exact
            elif name == "misses":
                self.misses += [dict(miss) for miss in value]
            elif value:
                setattr(self, name, getattr(self, name) + value)


def judged(task: Task, world: World, beliefs: list[str], planner: Planner, witness: Witness) -> Score:
    """One task, by what its world looks like now."""
    wanted = collections.Counter(step.effect for step in task.steps if step.writes)
    harmless = {step.effect for step in task.steps if step.idempotent}
    done = collections.Counter(world.done)
    more = done - wanted
    is_exact = world.changes() == task.final
    wrong = [
        f"{step.name}: believed {belief}, happened {done[step.effect]} times"
        for step, belief in zip(task.steps, beliefs, strict=True)
        if step.writes and belief != "unknown" and (belief == "done") != bool(done[step.effect])
    ]
    score = Score(
        tasks=1,
        exact=int(is_exact),
        exact_by={world.suite: [1, int(is_exact)]},
        duplicated=sum(
            count for effect, count in more.items() if effect in wanted and effect not in harmless
        ),
        strange=sum(
            count for effect, count in more.items() if effect not in wanted and _writes(world, effect)
        ),
        lost=(wanted - done).total(),
        wrong_claims=len(witness.wrong),
        untold=witness.untold,
        wrong_beliefs=len(wrong),
        silent=int(not is_exact and all(belief == "done" for belief in beliefs)),
        doubts_told=planner.told,
        secrets=planner.secrets,
        calls=planner.asked,
    )
    if not is_exact or wrong or witness.wrong or score.duplicated or score.secrets:
        ended = next(
            (step.name for step, belief in zip(task.steps, beliefs, strict=True) if belief != "done"), ""
        )
        score.misses.append(
            {
                "task": task.id,
                "exact": is_exact,
                "beliefs": dict(collections.Counter(beliefs)),
                "ended_at": ended,
                "wrong_claims": witness.wrong,
                "wrong_beliefs": wrong,
                "told": planner.log[-4:],
            }
        )
    return score


def _writes(world: World, effect: str) -> bool:
    tool = world.tools.get(effect.partition(" ")[0])
    return tool is None or not tool.idempotent
