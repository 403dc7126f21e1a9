"""Kill after kill over one store, and the books: this process never opens the store, it only forks and counts.

Children are forked from a process that has imported everything and started no thread, so that a death costs
milliseconds and not the start of an interpreter.
"""

import asyncio
import json
import os
import random
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash import lives
from tests.crash.scenarios import RANDOM, TRIALS, Trial

CHILD_S = 30.0


@dataclass(slots=True, kw_only=True)
class Books:
    """What was counted; `faults` must stay empty."""

    kills: int = 0
    survived: int = 0
    orders: int = 0
    repeated: int = 0
    forgotten: int = 0
    in_doubt: int = 0
    by_point: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    open_doubts: set[str] = field(default_factory=set)

    def summary(self) -> dict[str, Any]:
        """For people and programs."""
        return {
            "kills": self.kills,
            "points": len(self.by_point),
            "orders": self.orders,
            "repeated_silently": self.repeated,
            "forgotten": self.forgotten,
            "in_doubt_and_listed": self.in_doubt,
            "not_killed_in_time": self.survived,
            "faults": self.faults[:20],
        }


class Matrix:
    """One store, and the record of effects beside it."""

    def __init__(self, url: str, folder: Path, seed: int = 1) -> None:
        self.url, self.effects = url, folder / "effects"
        self.books = Books()
        self._rng = random.Random(seed)
        self._count = 0
        self.effects.touch()
        lives.World.effects = self.effects

    def run(self, trial: Trial) -> None:
        """One death, and its heir."""
        self._count += 1
        name = f"t{self._count}-{os.getpid()}"
        orders = [f"{name}-o{number}" for number in range(trial.orders)]
        before = self.effects.stat().st_size
        if trial.first:
            self._kill(trial, name, "call_all", trial.first, orders)
        reached = self._kill(trial, name, trial.life, trial.point, orders)
        happened = self._effects(before)
        said = _in_child(lives.inherit(self.url, name, trial.tool, orders))
        if said is None:
            self.books.faults.append(f"{trial.name}: the heir died or hung")
            return
        after = self._effects(before)
        self.books.open_doubts.update(said["doubts"])
        for order in orders:
            self.books.orders += 1
            self._judge(trial, order, happened[order], after[order], said, trial.then if reached else "any")

    def _kill(self, trial: Trial, name: str, life: str, point: str, orders: list[str]) -> bool:
        """Whether it died where it was to die."""
        given: tuple[Any, ...] = {
            "call_all": (trial.tool, orders),
            "resolve": (trial.happened,),
        }.get(life, ())
        armed = "nowhere" if point == RANDOM else point
        work = getattr(lives, life)(self.url, name, armed, *given)
        delay_s = self._rng.uniform(0.0, 0.12) if point == RANDOM else None
        status = _die(work, delay_s)
        if status == signal.SIGKILL:
            self.books.kills += 1
            self.books.by_point[f"{life} {trial.tool} {point}"] += 1
        elif point == RANDOM or trial.tool == "charge_slowly":
            # On a busy machine a kill from outside comes too late, and a body may end before its call's time does.
            self.books.survived += 1
        else:
            self.books.faults.append(f"{trial.name}: was not killed at {point}, ended with {status}")
        return status == signal.SIGKILL

    def _effects(self, start: int) -> dict[str, list[str]]:
        """The idempotency keys of each order's effects since `start`."""
        found: dict[str, list[str]] = Counter()  # type: ignore[assignment]
        with self.effects.open() as file:
            file.seek(start)
            for line in file:
                order, key = line.split()
                found[order] = [*(found[order] or []), key]
        return found

    def _judge(
        self, trial: Trial, order: str, before: Any, after: Any, said: dict[str, Any], then: str
    ) -> None:
        """Two laws for all, and the cell's own."""
        answer = said["answers"][order]
        done, now = before or [], after or []
        found = _what(answer)
        where = f"{trial.name} {order}: {found} {answer}, effects {done} then {now}"
        is_keyed = now and now[0] != "-"
        if (len(set(now)) if is_keyed else len(now)) > 1:
            self.books.repeated += 1
            self.books.faults.append(f"repeated silently: {where}")
        if done and found not in ("replay", "doubt") and not is_keyed:
            self.books.forgotten += 1
            self.books.faults.append(f"forgotten: {where}")
        if found == "replay" and not now:
            self.books.faults.append(f"answered as done, and never happened: {where}")
        if found == "doubt":
            self.books.in_doubt += 1
            if answer["doubt"] not in said["doubts"]:
                self.books.faults.append(f"in doubt and not listed: {where}")
        wanted = {"same_key": "fresh", "any": found}.get(then, then)
        # A repeat under a key may lose its answer once more: then it is repeated again within the call.
        if found != wanted and not (trial.tool == "charge_badly" and found == "doubt"):
            self.books.faults.append(f"wanted {then}: {where}")


def _what(answer: dict[str, Any]) -> str:
    if answer["kind"] == "in_doubt":
        return "doubt"
    if answer["ok"]:
        return "replay" if answer["replayed"] else "fresh"
    if answer["reason"] == "already_running":
        return "running"
    return "refused" if answer["kind"] == "conflict" else f"error {answer['kind']} {answer['reason']}"


def _die(work: Coroutine[Any, Any, Any], delay_s: float | None) -> int:
    """Run `work` in a child; the signal that ended it, or 0 and less."""
    pid = _fork(work, None)
    if delay_s is not None:
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    status = _wait(pid)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def _in_child(work: Coroutine[Any, Any, Any]) -> Any:
    """The value of `work`, run in a child; None where that died."""
    reader, writer = os.pipe()
    pid = _fork(work, lambda value: os.write(writer, json.dumps(value).encode()))
    os.close(writer)
    parts: list[bytes] = []
    until = time.monotonic() + CHILD_S
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reader, 65536)
        if not part:
            break
        parts.append(part)
    os.close(reader)
    return json.loads(b"".join(parts)) if _wait(pid) == 0 and parts else None


def _fork(work: Coroutine[Any, Any, Any], tell: Callable[[Any], object] | None) -> int:
    pid = os.fork()
    if pid:
        work.close()
        return pid
    code = 1
    try:
        value = asyncio.run(work)
        if tell is not None:
            tell(value)
        code = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _wait(pid: int) -> int:
    """The exit status; a child that hangs is killed, which is told apart by a status of its own."""
    until = time.monotonic() + CHILD_S
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 255 << 8


def kill_many(
    matrix: Matrix, kills: int, *, seconds: float | None = None, told: Callable[[Books], object] | None = None
) -> Books:
    """Every cell in turn, until there were so many kills or the time is over."""
    until = None if seconds is None else time.monotonic() + seconds
    while matrix.books.kills < kills:
        for trial in TRIALS:
            if matrix.books.kills >= kills or (until is not None and time.monotonic() >= until):
                break
            matrix.run(trial)
            if told is not None:
                told(matrix.books)
        if until is not None and time.monotonic() >= until:
            break
    return matrix.books
