"""The chaos suite around the planner: faults that are the same for all, what is counted, and short cuts that change nothing."""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Any

import pytest

from bench.chaos import pool, work
from bench.chaos.faults import KINDS, Schedule, Transport
from bench.chaos.judge import Score
from bench.chaos.pool import Plan, gathered, measured
from bench.chaos.world import Task, World
from failsoft.testing.clock import VirtualClock, run_virtual

if TYPE_CHECKING:
    from pathlib import Path

RATES = (0, 5, 20, 30, 50)


class Shop(World):
    """Notes that can be added and listed."""

    def __init__(self) -> None:
        super().__init__("tests", "shop")
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        self.offer("add", "Adds a note.", schema, False, False)
        self.offer("listed", "Lists the notes.", {"type": "object"}, True, False)
        self.restart()

    def begin(self) -> None:
        self.notes: list[str] = []

    def use(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "add":
            self.notes.append(arguments["text"])
        return list(self.notes)

    def changes(self) -> dict[str, Any]:
        return {"notes": list(self.notes)} if self.notes else {}

    def look_of(self, name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        return "listed", {}

    def tasks(self) -> list[Task]:
        return [self.task(str(n), [("add", {"text": f"{n} {m}"}) for m in range(3)]) for n in range(12)]


def kind_of(schedule: Schedule, effect: str) -> str:
    """What happens to a call that is sent for the first time."""
    fault = schedule.fault(effect, 1)
    return fault.kind if fault is not None else ""


@pytest.fixture(name="bench")
def _bench(monkeypatch: pytest.MonkeyPatch) -> work.Bench:
    monkeypatch.setattr(work, "load_worlds", lambda: [Shop()])
    return work.Bench()


def test_all_meet_the_same_faults() -> None:
    """A fault depends on the seed, the task, the call and how often it was sent, and all kinds occur."""
    schedules = [Schedule(0.5, 3, "t"), Schedule(0.5, 3, "t"), Schedule(0.5, 4, "t")]
    drawn = [[kind_of(each, f"e{n}") for n in range(200)] for each in schedules]
    assert drawn[0] == drawn[1] != drawn[2]
    assert set(drawn[0]) == {"", *KINDS}
    assert not any(Schedule(0.0, 3, "t").fault(f"e{n}", 1) for n in range(50))


def test_a_service_that_is_tired_stays_so_until_the_hint_is_over() -> None:
    """After a 429 the next request is refused too, unless it comes late enough."""

    async def main(clock: VirtualClock) -> list[str]:
        schedule, shop = Schedule(1.0, 0, "t"), Shop()
        at = next(n for n in range(99) if kind_of(schedule, shop.effect("add", {"text": str(n)})) == "rate")
        transport = Transport(shop, schedule, clock.monotonic)
        said = []
        for text in (str(at), "other"):
            try:
                await transport.send("add", {"text": text})
            except Exception as exc:
                said.append(str(exc))
        return said

    assert ["429" in each for each in run_virtual(main)] == [True, True]


def test_a_ground_truth_is_seen_by_its_look() -> None:
    """Each write knows what shows it, before and after."""
    step = Shop().tasks()[0].steps[1]
    assert step.look is not None
    assert (step.look.before, step.look.after) == ('["0 0"]', '["0 0", "0 1"]')


def test_the_world_counts_and_not_the_system(bench: work.Bench) -> None:
    """A system that says done of everything and does nothing loses all, and every claim is wrong."""

    async def build(tools: Any, clock: VirtualClock) -> Any:
        async def call(name: str, arguments: str) -> tuple[str, bool]:
            return "done", False

        return call

    liar = types.ModuleType("liar")
    liar.build = build  # type: ignore[attr-defined]
    bench.systems["liar"] = liar
    score = bench.unit("liar", 0, (0,), ("careful",))["careful"]["0"]
    assert (score["exact"], score["lost"], score["wrong_claims"], score["silent"]) == (0, 36, 36, 12)


def test_short_cuts_leave_the_figures_as_they_are(bench: work.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks without a fault and runs in which the planners agree are not run again, and nothing else differs."""
    quick = [bench.unit("bare", seed, RATES, work.PLANNERS) for seed in range(3)]
    monkeypatch.setattr(work, "_meets_nothing", lambda task, schedule: False)
    whole = [
        {
            planner: {
                str(rate): bench.unit("bare", seed, (rate,), (planner,))[planner][str(rate)] for rate in RATES
            }
            for planner in work.PLANNERS
        }
        for seed in range(3)
    ]
    costs = {"cpu_s", "runs", "virtual_s"}
    for unit in (*quick, *whole):
        for by_rate in unit.values():
            for score in by_rate.values():
                assert score["virtual_s"] >= -1e-6
                for name in costs:
                    del score[name]
    assert json.dumps(quick) == json.dumps(whole)


def test_a_run_that_was_stopped_goes_on(
    tmp_path: Path, bench: work.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units in the file are not run again, a half-written line is, and the sums are the same."""
    monkeypatch.setattr(pool, "Bench", lambda limit: bench)
    plan = Plan(systems=("bare",), seeds=3, rates=RATES, planners=("careful",), tasks=None, jobs=1)
    file = tmp_path / "units.jsonl"
    first = measured(plan, {"bare": ()}, file)
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) == 3
    file.write_text("\n".join([*lines[:2], lines[2][:40]]) + "\n", encoding="utf-8")
    ran: list[tuple[str, int]] = []
    whole_unit = bench.unit
    monkeypatch.setattr(bench, "unit", lambda *unit: (ran.append(unit[:2]), whole_unit(*unit))[1])
    second = measured(plan, {"bare": ()}, file)
    assert ran == [("bare", 2)]
    exact = [{key: score.exact for key, score in each["careful"].items()} for each in (first, second)]
    assert exact[0] == exact[1]
    assert first["careful"][("bare", 50)].tasks == 36


def test_sums_keep_the_misses() -> None:
    """Scores of several seeds are added, their misses put one after another."""
    one = {
        "careful": {
            "30": {**Score(tasks=2, exact=1, exact_by={"a": [2, 1]}).__dict__, "misses": [{"task": "x"}]}
        }
    }
    score = gathered({("s", 0): one, ("s", 1): one})["careful"][("s", 30)]
    assert (score.tasks, score.exact, score.exact_by, len(score.misses)) == (4, 2, {"a": [4, 2]}, 2)
