"""Operation `idempotency`: calls that may be the same call, over memory and over a file, which have to agree."""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.cases.build import MissingLibrary
from tests.cases.repeat_expect import checks_of, problem_of, seen_of, status_of
from tests.cases.repeat_forms import Step, read_steps
from tests.cases.repeat_words import NotUnderstood, annotations_of
from tests.cases.repeat_world import World
from tests.cases.seen import Seen

__all__ = ["run_idempotency"]


def run_idempotency(row: dict[str, Any]) -> Seen:
    """One case; has event loops of its own, because a process that dies is forked from outside of one."""
    try:
        worlds = [_lived(row, url, read_steps(row)) for url in _urls(row)]
    except NotUnderstood as exc:
        raise MissingLibrary(f"a form of this case is not known: {exc}") from exc
    seen, *others = map(_seen, worlds)
    for other in others:
        for name in ("executions", "effects", "distinct_keys_passed", "doubts", "statuses"):
            # Which of several at once is the first, is no matter of the store.
            one, another = (
                sorted(facts) if isinstance(facts, list) else facts
                for facts in (seen.facts[name], other.facts[name])
            )
            if one != another:
                raise AssertionError(f"the stores disagree on {name}: {one}, {another}")
    return seen


def _urls(row: dict[str, Any]) -> tuple[str, ...]:
    """A store in memory knows nothing after a death."""
    steps = read_steps(row)
    dies = re.search(r"crash|kill|\bdies?\b|died", str(row).lower()) is not None
    if dies or any(step.verb == "restart" for step in steps):
        return ("sqlite",)
    return ("sqlite", "memory")


def _lived(row: dict[str, Any], kind: str, steps: list[Step]) -> World:
    with tempfile.TemporaryDirectory() as name:
        url = kind if kind == "memory" else f"sqlite:///{name}/failsoft.db"
        calls = [asked for step in steps for asked in step.calls]
        world = World(row, url, Path(name), tuple(dict.fromkeys(asked.name for asked in calls if asked.name)))
        began = time.monotonic()
        world.live(steps)
        world.took_s = time.monotonic() - began
        world.row = {**row, "_runs": world.lines("run"), "_effects": world.lines("effect")}
    return world


def _seen(world: World) -> Seen:
    runs, effects, answers = world.row["_runs"], world.row["_effects"], world.answers
    keys = [line["key"] for line in runs]
    ledger_keys = [answer.ledger_key for answer in answers]
    values = [answer.result.value for answer in answers if answer.result is not None and answer.result.ok]
    seen = seen_of(answers[-1])
    tool = world.tools()[0]
    said = annotations_of(tool)
    seen.repeatable = bool(said.get("read_only") or said.get("idempotent") or any(keys))
    last = answers[-1].result
    seen.facts |= {
        "answers": answers,
        "statuses": [sorted(status_of(answer)) for answer in answers],
        "executions": len(runs),
        "effects": len(effects),
        "doubts": world.doubts,
        "executions_by": Counter(line["tool"] for line in runs),
        "effects_by": Counter(line["tool"] for line in effects),
        "effects_values": [line["value"] for line in effects],
        "keys": keys,
        "distinct_keys_passed": len({key for key in keys if key is not None}),
        "keys_stable": len(set(keys)) == 1 and keys[0] is not None,
        "ledger_keys": ledger_keys,
        "distinct_keys": len(set(ledger_keys)),
        "same_key": len(answers) > 1 and len(set(ledger_keys)) == 1 and None not in ledger_keys,
        "result_ids_unique": len({answer.asked.label for answer in answers}) == len(answers),
        "elapsed_s": world.took_s,
        "same_value": len(values) == len(answers) and all(value == values[0] for value in values),
        "result_ids": [answer.asked.label for answer in answers],
        "value": None if last is None else last.value,
        "raises": False,
    }
    seen.ran_with = [line["arguments"] for line in runs]
    seen.checks = checks_of(answers)
    wrong = [problem_of(answer, answer.asked.expect) for answer in answers if answer.asked.expect is not None]
    if any(wrong):
        raise AssertionError("; ".join(problem for problem in wrong if problem))
    return seen
