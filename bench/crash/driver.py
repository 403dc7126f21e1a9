"""One run: a process pays step after step, is killed where the plan says, is started again, until the run is over.

Then the bank's file is compared with what the system says of its steps.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.crash.bank import Bank, Kill
from bench.measure import ROOT, environment

if TYPE_CHECKING:
    from pathlib import Path

    from bench.crash.systems import Setup

__all__ = ["MOMENTS", "Books", "Driver", "kills_of"]

# What a step in flight may have been at when its process died; the last one hits the restarted process.
MOMENTS = ("before", "during", "after", "restarting")
# An answer that has arrived is written down within some milliseconds: the kill comes before, while or after that.
AFTER_S = 0.012
RUN_S = 180.0
LIVES = 40


@dataclass(kw_only=True)
class Books:
    """What came of all runs of one setup."""

    runs: int = 0
    steps: int = 0
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOMENTS, 0))
    repeated: int = 0
    forgotten: int = 0
    doubts: int = 0
    cleared: int = 0
    unfinished: int = 0
    recovery_s: list[float] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """All kills."""
        return sum(self.kills.values())


def kills_of(rng: random.Random, steps: int, kills: int) -> tuple[dict[int, Kill], float | None]:
    """Which steps end in a kill, one for each moment in turn, and when the restarted process is hit, if at all.

    The number for that is a share of the time that a process takes from its start to its first payment.
    """
    moments = [MOMENTS[number % len(MOMENTS)] for number in range(kills)]
    at_steps = [moment for moment in moments if moment != "restarting"]
    chosen = rng.sample(range(steps), len(at_steps))
    rng.shuffle(at_steps)
    plan = {
        step: Kill(moment=moment, delay_s=rng.uniform(0, AFTER_S))
        for step, moment in zip(chosen, at_steps, strict=True)
    }
    return plan, rng.uniform(0.1, 1.1) if "restarting" in moments else None


class Driver:
    """One setup of one system, with its servers running.

    Args:
        module: The system's module.
        setup: How it is used.
        folder: For its files.
        beside: What its processes must know of the servers.
    """

    def __init__(self, module: Any, setup: Setup, folder: Path, beside: dict[str, Any]) -> None:
        self.module, self.setup, self.folder, self.beside = module, setup, folder, beside
        self.books = Books()
        self.bank = Bank(record=folder / "record", kill=self._kill)
        self._worker: subprocess.Popen[bytes] | None = None
        self._killing = threading.Lock()
        self._killed_at: list[float] = []
        self._start_s = 1.0

    def run(self, name: str, steps: int, plan: dict[int, Kill], restart: float | None) -> None:
        """One run to its end, and its entry in the books."""
        self.bank.plan = {(name, step): kill for step, kill in plan.items()}
        self._killed_at.clear()
        job = {
            **self.beside,
            "bank": self.bank.address,
            "run": name,
            "steps": steps,
            "keys": self.setup.keys,
            "can_ask": self.setup.can_ask,
            "retries": self.setup.retries,
        }
        left = len(self.bank.plan)
        said = self._to_the_end(job, restart)
        ended = time.monotonic()
        for moment in plan.values():
            self.books.kills[moment.moment] += 1
        for kill in self.bank.plan.values():  # a step that was never asked for
            self.books.kills[kill.moment] -= 1
        self.books.kills["restarting"] += max(0, len(self._killed_at) - (left - len(self.bank.plan)))
        self.books.recovery_s += self._recoveries(ended)
        self._judge(name, steps, said)
        if said is not None and said["doubts"] and hasattr(self.module, "RESOLVES"):
            self._resolve(job, said["doubts"])

    def _recoveries(self, ended: float) -> list[float]:
        """Seconds from each kill to the next step that had not been paid before, or to the end of the run.

        A kill that is followed by another one before that tells nothing.
        """
        found = []
        for number, killed in enumerate(self._killed_at):
            recovered = next((at for at in self.bank.news if at > killed), ended)
            if all(recovered <= later for later in self._killed_at[number + 1 :]):
                found.append(recovered - killed)
        return found

    def _judge(self, name: str, steps: int, said: dict[str, Any] | None) -> None:
        books, booked = self.books, self.bank.booked
        books.runs += 1
        books.steps += steps
        books.repeated += sum(max(0, booked[(name, step)] - 1) for step in range(steps))
        if said is None:
            books.unfinished += 1
            books.remarks.append(f"{name} did not end: {self._last_words()}")
            return
        unsure = set(said["doubts"].values())
        books.doubts += len(unsure)
        books.forgotten += sum(booked[(name, step)] == 0 for step in range(steps) if step not in unsure)
        books.cleared += said.get("cleared", 0)

    def _resolve(self, job: dict[str, Any], doubts: dict[str, int]) -> None:
        """A person looks at the bank's file and says what happened; then the run is started once more."""
        name, steps = job["run"], job["steps"]
        self.bank.plan = {}
        happened = {doubt: self.bank.booked[(name, step)] > 0 for doubt, step in doubts.items()}
        said = self._to_the_end({**job, "said": happened}, None)
        counts = [self.bank.booked[(name, step)] for step in range(steps)]
        if said is None or said["doubts"] or counts != [1] * steps:
            self.books.remarks.append(f"{name} after a person had looked: {said}, booked {counts}")

    # ---- processes ----

    def _to_the_end(self, job: dict[str, Any], restart: float | None) -> dict[str, Any] | None:
        """What the last process says; None where there is no end."""
        with contextlib.ExitStack() as ending:
            asker = None
            if hasattr(self.module, "ask"):
                asker, asked = self._start("ask", job)
                ending.callback(_end, asker)
            until = time.monotonic() + RUN_S
            for life in range(LIVES):
                began = time.monotonic()
                self._worker, out = self._start("work", job)
                ending.callback(_end, self._worker)
                if life == 0:
                    self._learn_start(began, until)
                while self._worker.poll() is None:
                    time.sleep(0.002)
                    if asker is not None and asker.poll() is not None:
                        return _said(asked)
                    if life and restart is not None and time.monotonic() > began + restart * self._start_s:
                        restart = None
                        self._kill()
                    if time.monotonic() > until:
                        return None
                with self._killing:
                    pass  # a kill that the bank ordered is entered before the next life begins
                if self._worker.returncode != -signal.SIGKILL:
                    return _said(out) if self._worker.returncode == 0 else None
        return None

    def _learn_start(self, began: float, until: float) -> None:
        """How long it takes from the start of a process to its first payment."""
        assert self._worker is not None
        before = self.bank.asked
        while self.bank.asked == before and self._worker.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        self._start_s = time.monotonic() - began

    def _start(self, verb: str, job: dict[str, Any]) -> tuple[subprocess.Popen[bytes], Path]:
        job_file, out = self.folder / f"{verb}.job", self.folder / f"{verb}.said"
        job_file.write_text(json.dumps(job), encoding="utf-8")
        out.unlink(missing_ok=True)
        command = [sys.executable, "-m", "bench.crash.life", self.module.__name__, verb]
        command += [str(job_file), str(out)]
        surroundings = environment()
        surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT), surroundings["PYTHONPATH"]])
        with (self.folder / f"{verb}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return process, out

    def _kill(self) -> None:
        """End the working process and whatever it has started, as a power cut would; returns when it is gone."""
        with self._killing:
            worker = self._worker
            if worker is not None and worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
                self._killed_at.append(time.monotonic())

    def _last_words(self) -> str:
        texts = [(self.folder / f"{verb}.log") for verb in ("work", "ask")]
        lines = [line for file in texts if file.exists() for line in file.read_text("utf-8").splitlines()]
        return " | ".join(lines[-3:])[-400:]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _said(out: Path) -> dict[str, Any] | None:
    return dict(json.loads(out.read_text("utf-8"))) if out.exists() else None
