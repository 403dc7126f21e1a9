"""Help for tests with real processes: every one of them is looked for by its id afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from failsoft.isolation.process import ProcessRunner


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(condition, seconds: float = 5.0) -> None:
    """Wait for something that other threads or processes do."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        await asyncio.sleep(0.005)


def written_pid(path) -> int:
    """The id that a body wrote; waits for it."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if path.exists() and path.read_text().endswith("\n"):
            return int(path.read_text().split()[-1])
        time.sleep(0.005)
    raise AssertionError("no process id was written")


@pytest.fixture
async def pids(tmp_path):
    """A file for the ids of grandchildren; whatever is still alive at the end is killed, and fails the test."""
    path = tmp_path / "pids"
    yield path
    left = [int(pid) for pid in path.read_text().split()] if path.exists() else []
    alive = [pid for pid in left if is_alive(pid)]
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    assert not alive, "left running"


@pytest.fixture
async def make_runner():
    """Makes runners, closes them, and looks whether a process, thread or descriptor is left."""
    before = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))
    made: list[ProcessRunner] = []
    seen: set[int] = set()

    def make(**options) -> ProcessRunner:
        runner = ProcessRunner(**{"max_workers": 2, **options})
        made.append(runner)
        return runner

    yield make
    for runner in made:
        stats = runner.stats()
        seen |= {*stats.pids, *([stats.supervisor_pid] if stats.supervisor_pid else [])}
        await runner.aclose(1)
    await asyncio.sleep(0)
    assert [pid for pid in seen if is_alive(pid)] == []
    assert set(threading.enumerate()) - before[0] == set()  # idle ones of other tests may end meanwhile
    assert set(os.listdir("/proc/self/fd")) - before[1] == set()


@pytest.fixture(scope="module")
def runner():
    """A runner of two workers and a spare, one for all tests of a file, each of which has an event loop of its own."""
    made = ProcessRunner(max_workers=2)
    asyncio.run(made.warm())
    yield made
    asyncio.run(made.aclose(1))
    assert made.stats().workers == 0
