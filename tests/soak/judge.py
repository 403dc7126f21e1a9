"""Whether it held: no lost result, nothing done twice, a ledger that agrees with the world, and no leak."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from tests.soak.load import Answer, Soak

__all__ = ["faults"]

# Allocator and caches need some room before they stand still.
MOST_GROWTH_MB = 24.0


def faults(soak: Soak, folder: Path) -> list[str]:
    """Everything that is wrong; empty where all is well."""
    return [*_lost(soak), *_disagreements(soak, folder), *_leaks(soak)]


def _lost(soak: Soak) -> list[str]:
    found = [f"raised: {text}" for text in soak.raised]
    missing = soak.asked - len(soak.answers) - len(soak.raised)
    if missing:
        found.append(f"{missing} calls have no result")
    return found


def _disagreements(soak: Soak, folder: Path) -> list[str]:
    effects = Counter(int(line) for line in (folder / "world").read_text().split())
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        states = {int(n): state for n, state in connection.execute("SELECT call_id, state FROM claims")}
    found = [f"{n} took effect {count} times" for n, count in effects.items() if count > 1]
    found += [f"{n} took effect and is not in the ledger" for n in effects if n not in states]
    for n, answer in soak.answers.items():
        wrong = _wrong(answer, states.get(n, "none"), effects[n])
        if wrong:
            found.append(f"{n} {answer.tool} {answer.how} ({answer.kind or 'ok'}, {answer.reason}): {wrong}")
    return found


def _wrong(answer: Answer, state: str, effects: int) -> str:
    """What does not fit between what was told, what is in the ledger and what happened."""
    if state == "running":
        return "is still running in the ledger"
    if state == "succeeded" and effects == 0:
        return "the ledger says succeeded, and nothing happened"
    if state in ("failed", "none") and effects:
        return f"the ledger says {state}, and it happened"
    if answer.ok and state != "succeeded":
        return f"was answered, and the ledger says {state}"
    if not answer.ok and answer.effect == "none" and state not in ("failed", "none"):
        return f"was told as without effect, and the ledger says {state}"
    return ""


def _leaks(soak: Soak) -> list[str]:
    before, after, counts = soak.before, soak.after, soak.counts
    if before is None or after is None:
        return ["it was not counted"]
    found = []
    if after.processes > before.processes:
        found.append(f"{after.processes - before.processes} processes are left")
    # One thread and its loop's three descriptors serve the synchronous door of the whole process, and stay.
    if after.threads > before.threads + 1:
        found.append(f"{after.threads - before.threads} threads are left")
    if after.descriptors > before.descriptors + 3:
        found.append(f"{after.descriptors - before.descriptors} descriptors are left")
    third = len(counts) // 3
    if third >= 3:
        early = max(each.memory_mb for each in counts[third - 2 : third + 1])
        late = min(each.memory_mb for each in counts[-3:])
        if late - early > MOST_GROWTH_MB:
            found.append(f"memory grew from {early:.0f} to {late:.0f} MB after the first third")
        for name in ("processes", "threads", "descriptors"):
            most_early = max(getattr(each, name) for each in counts[: 2 * third])
            most_late = max(getattr(each, name) for each in counts[-third:])
            if most_late > most_early * 1.5 + 8:
                found.append(f"{name} grew from {most_early} to {most_late}")
    return found
