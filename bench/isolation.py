"""What it costs to run a body elsewhere, and how soon its place is free again after it hung.

    python -m bench.isolation [--rounds 30] [--json]

Floor: one forked worker on a socket pair, blocking, pickled. Peers: `asyncio.to_thread`, `ProcessPoolExecutor`, and
pebble and loky where they are installed. Batches of every case in turn, in shuffled order; medians; ratios to the floor
of the same run. Where the system decides on which core a worker runs, a round trip takes one of two times, so each
figure is taken twice: as scheduled, and with the caller on one core and every worker on another.
Aims: a warm process call 2 times the floor at most, a place free again 12 ms after the deadline.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import pickle
import platform
import random
import signal
import socket
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from failsoft.core.context import CallContext
from failsoft.isolation.process import ProcessRunner
from failsoft.isolation.task import TaskRunner
from failsoft.isolation.thread import ThreadRunner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BATCH, DEADLINE_S = 50, 0.2
FLOOR = "floor: forked worker on a socket pair"


def add(a: int, b: int) -> int:
    """The body of a round trip."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """The same, async."""
    return a + b


def spin() -> None:
    """The body that hangs."""
    while True:
        pass


def nap(seconds: float) -> None:
    """A body that waits."""
    time.sleep(seconds)


class RawWorker:
    """The least that a worker process can be."""

    def __init__(self) -> None:
        self.sock, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            while data := other.recv(65536):
                fn, args = pickle.loads(data)
                other.sendall(pickle.dumps(fn(*args)))
            os._exit(0)
        other.close()

    def call(self, fn: Callable[..., Any], *args: Any, timeout_s: float = 5.0) -> Any:
        """One blocking round trip."""
        self.sock.settimeout(timeout_s)
        self.sock.sendall(pickle.dumps((fn, args)))
        return pickle.loads(self.sock.recv(65536))

    async def call_async(self, fn: Callable[..., Any], *args: Any) -> Any:
        """One round trip by way of the event loop."""
        loop = asyncio.get_running_loop()
        self.sock.setblocking(False)
        await loop.sock_sendall(self.sock, pickle.dumps((fn, args)))
        return pickle.loads(await loop.sock_recv(self.sock, 65536))

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.sock.close()


class Contestants:
    """Every way to run a body elsewhere, warm."""

    def __init__(self, raw: RawWorker) -> None:
        self.raw = raw
        self.call = CallContext("bench", {})
        self.process, self.thread, self.task = ProcessRunner(max_workers=1), ThreadRunner(), TaskRunner()
        self.pool = ProcessPoolExecutor(1)
        self.cases: dict[str, Callable[[], Awaitable[Any]]] = {
            FLOOR: self._floor,
            "floor, awaited in an event loop": lambda: raw.call_async(add, 1, 2),
            "asyncio.to_thread": lambda: asyncio.to_thread(add, 1, 2),
            "failsoft task": lambda: _of(self.task.start(add_async, {"a": 1, "b": 2}, self.call)),
            "failsoft thread": lambda: _of(self.thread.start(add, {"a": 1, "b": 2}, self.call)),
            "failsoft process": lambda: _of(self.process.start(add, {"a": 1, "b": 2}, self.call)),
            "ProcessPoolExecutor": lambda: _of(asyncio.wrap_future(self.pool.submit(add, 1, 2))),
        }
        self.peers: list[Any] = []
        if importlib.util.find_spec("pebble"):
            from pebble import ProcessPool

            pebble = ProcessPool(max_workers=1)
            self.peers.append(lambda: (pebble.stop(), pebble.join()))
            self.cases["pebble ProcessPool"] = lambda: _of(
                asyncio.wrap_future(pebble.schedule(add, args=(1, 2), timeout=5))
            )
        if importlib.util.find_spec("loky"):
            import loky

            loky_pool = loky.get_reusable_executor(max_workers=1, timeout=120)
            self.peers.append(lambda: loky_pool.shutdown(kill_workers=True))
            self.cases["loky"] = lambda: _of(asyncio.wrap_future(loky_pool.submit(add, 1, 2)))

    async def _floor(self) -> Any:
        return self.raw.call(add, 1, 2)

    async def close(self) -> None:
        """End every worker."""
        await self.process.aclose()
        await self.thread.aclose()
        self.pool.shutdown()
        for close in self.peers:
            close()


async def _of(work: Any) -> Any:
    return await work


async def round_trips(contestants: Contestants, rounds: int) -> dict[str, float]:
    """Median microseconds of a round trip, by contestant."""
    times: dict[str, list[float]] = {name: [] for name in contestants.cases}
    names = list(times)
    for number in range(rounds + 1):
        random.shuffle(names)
        for name in names:
            case = contestants.cases[name]
            began = time.perf_counter()
            for _ in range(BATCH):
                await case()
            if number:  # the first round warms up
                times[name].append((time.perf_counter() - began) / BATCH * 1e6)
    return {name: statistics.median(each) for name, each in times.items()}


def apart(pids: list[int]) -> bool:
    """Put this process on one core and the workers on another; False where there is only one, or no way to."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        return False
    here, there = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, {here})
    for pid in pids:
        os.sched_setaffinity(pid, {there})
    return True


async def recovery(rounds: int) -> dict[str, list[float]]:
    """Milliseconds from the deadline of a body that spins until its only place has answered another call."""
    times: dict[str, list[float]] = {"floor: kill -9, hot spare": [], "failsoft process": []}
    runner, call = ProcessRunner(max_workers=1), CallContext("bench", {})
    await runner.warm()
    await runner.start(add, {"a": 1, "b": 2}, call)
    for _ in range(rounds):
        await asyncio.sleep(0.05)  # the spare of the round before
        job = runner.start(spin, {}, call)
        due = time.perf_counter() + DEADLINE_S
        try:
            async with asyncio.timeout(DEADLINE_S):
                await job
        except TimeoutError:
            await job.abandon(lambda *_: None)
        await runner.start(add, {"a": 1, "b": 2}, call)
        times["failsoft process"].append((time.perf_counter() - due) * 1e3)
    await runner.aclose()
    if importlib.util.find_spec("pebble"):
        times["pebble ProcessPool"] = _pebble_recovery(max(3, rounds // 3))
    return times


def _floor_recovery(rounds: int) -> list[float]:
    times, workers = [], [RawWorker(), RawWorker()]
    for _ in range(rounds):
        hung, spare = workers
        due = time.perf_counter() + DEADLINE_S
        try:
            hung.call(spin, timeout_s=DEADLINE_S)
        except TimeoutError:
            os.kill(hung.pid, signal.SIGKILL)
        spare.call(add, 1, 2)
        times.append((time.perf_counter() - due) * 1e3)
        hung.kill()
        workers = [spare, RawWorker()]
    for worker in workers:
        worker.kill()
    return times


def _pebble_recovery(rounds: int) -> list[float]:
    from concurrent.futures import TimeoutError as Late

    from pebble import ProcessPool

    times = []
    with ProcessPool(max_workers=1) as pool:
        pool.schedule(add, args=(1, 2)).result()
        for _ in range(rounds):
            due = time.perf_counter() + DEADLINE_S
            try:
                pool.schedule(spin, timeout=DEADLINE_S).result()
            except Late:
                pool.schedule(add, args=(1, 2)).result()
            times.append((time.perf_counter() - due) * 1e3)
    return times


async def overshoot(rounds: int) -> dict[str, list[float]]:
    """Milliseconds from the deadline of a body that sleeps until its caller is answered."""
    runners: dict[str, Any] = {
        "failsoft thread": ThreadRunner(max_zombies=1000),
        "failsoft process": ProcessRunner(max_workers=1),
    }
    call, times = CallContext("bench", {}), {name: list[float]() for name in runners}
    await runners["failsoft process"].warm()
    for name, runner in runners.items():
        for _ in range(rounds):
            await asyncio.sleep(0.03)
            job = runner.start(nap, {"seconds": 0.5}, call)
            due = time.perf_counter() + 0.05
            try:
                async with asyncio.timeout(0.05):
                    await job
            except TimeoutError:
                await job.abandon(lambda *_: None)
            times[name].append((time.perf_counter() - due) * 1e3)
        await runner.aclose()
    return times


async def measure(raw: RawWorker, floor_recovery: list[float], rounds: int) -> dict[str, Any]:
    """Everything, in one run."""
    contestants = Contestants(raw)
    scheduled = await round_trips(contestants, rounds)
    result: dict[str, Any] = {"round_trip_us": {"as scheduled": scheduled}}
    workers = [raw.pid, *contestants.process.stats().pids, *(contestants.pool._processes or ())]
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if before is not None and apart(workers):
        contestants.cases = {
            name: case
            for name, case in contestants.cases.items()
            if name not in ("pebble ProcessPool", "loky")
        }
        result["round_trip_us"]["workers on another core"] = await round_trips(contestants, rounds)
        os.sched_setaffinity(0, before)
    await contestants.close()
    recovered = await recovery(max(5, rounds // 2))
    recovered["floor: kill -9, hot spare"] = floor_recovery
    result["recovery_ms"] = {name: statistics.median(each) for name, each in recovered.items()}
    late = await overshoot(max(20, rounds))
    result["overshoot_ms"] = {
        name: {"median": statistics.median(each), "p99": sorted(each)[int(len(each) * 0.99)]}
        for name, each in late.items()
    }
    result["machine"] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }
    return result


def show(result: dict[str, Any]) -> None:
    """Print for people."""
    for placing, times in result["round_trip_us"].items():
        print(f"round trip, {placing}")
        for name, took in times.items():
            print(f"  {name:40} {took:8.1f} µs   {took / times[FLOOR]:6.2f} x")
    print("from the deadline of a body that spins until its place has answered")
    for name, took in result["recovery_ms"].items():
        print(f"  {name:40} {took:8.2f} ms")
    print("from the deadline of a body that sleeps until its caller is answered")
    for name, took in result["overshoot_ms"].items():
        print(f"  {name:40} {took['median']:8.2f} ms, 99th percentile {took['p99']:.2f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    raw = RawWorker()  # forked before there is a thread
    floor_recovery = _floor_recovery(max(5, options.rounds // 2))
    result = asyncio.run(measure(raw, floor_recovery, options.rounds))
    raw.kill()
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
