"""Every way to misbehave, in every isolation that can hold it, through the whole path and in real time.

Each row: answered by its deadline, with the right kind and effect; its place free again when the body has ended, and not
before; the ledger knows what is known; nothing runs on.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from failsoft import Harness, Policy
from tests.composition import misbehaving as bad
from tests.isolation import bodies
from tests.isolation.conftest import is_alive, until

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(40)]

# What a loaded machine may take on top of the deadline and its 10 %.
SLACK_S = 0.6


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to misbehave.

    Args:
        isolation: Where.
        body: What runs.
        arguments: What it is called with; `PIDS` stands for the file of grandchildren's ids.
        kind: The kind of the error; None for a success.
        reason: The error's reason.
        runs_on: Whether the body outlives its answer.
        limit_s: Time limit of the call.
    """

    isolation: str
    body: Any
    kind: str | None = "timeout"
    reason: str | None = "attempt_timeout"
    arguments: dict[str, Any] = field(default_factory=dict)
    runs_on: bool = False
    late: bool = False
    limit_s: float = bad.LIMIT_S

    def __str__(self) -> str:
        marks = "-left_group" if self.arguments.get("leave_group") else ""
        return f"{self.isolation}-{self.body.__name__}{marks}"


def died(body: Any, **options: Any) -> Row:
    return Row(isolation="process", body=body, kind="internal", reason="worker_died", limit_s=5, **options)


def well(isolation: str, body: Any, **options: Any) -> Row:
    return Row(isolation=isolation, body=body, kind=None, reason=None, limit_s=10, **options)


ROWS = [
    Row(isolation="inline", body=bad.sleeps),
    Row(isolation="inline", body=bad.raises_in_cleanup),
    Row(isolation="inline", body=bad.swallows_once, kind=None, reason=None, late=True),
    well("inline", bad.huge_async),
    Row(isolation="task", body=bad.sleeps),
    Row(isolation="task", body=bad.raises_in_cleanup),
    Row(isolation="task", body=bad.swallows, runs_on=True),
    well("task", bad.huge_async),
    Row(isolation="thread", body=bad.thread_sleeps, runs_on=True),
    Row(isolation="thread", body=bad.thread_spins, runs_on=True),
    Row(isolation="thread", body=bad.thread_blocks_in_c, runs_on=True),
    Row(isolation="thread", body=bad.thread_raises_in_cleanup, runs_on=True),
    well("thread", bad.huge),
    Row(isolation="process", body=bodies.sleeps),
    Row(isolation="process", body=bodies.sleeps_async),
    Row(isolation="process", body=bodies.spins),
    Row(isolation="process", body=bodies.spins_async),
    Row(isolation="process", body=bodies.blocks_in_c),
    Row(isolation="process", body=bodies.swallows),
    Row(isolation="process", body=bodies.swallows_async),
    Row(isolation="process", body=bodies.raises_in_cleanup),
    Row(isolation="process", body=bodies.forks, arguments={"path": "PIDS"}),
    Row(isolation="process", body=bodies.forks, arguments={"path": "PIDS", "leave_group": True}),
    Row(isolation="process", body=bodies.daemonizes, arguments={"path": "PIDS"}, limit_s=1.5),
    Row(isolation="process", body=bodies.eats_memory, kind="internal", reason="memory_limit", limit_s=5),
    died(bodies.segfaults),
    died(bodies.exits),
    died(bodies.kills_itself),
    died(bodies.forks_and_crashes, arguments={"path": "PIDS"}),
    well("process", bodies.prints, arguments={"megabytes": 100}),
    well("process", bad.huge),
    Row(isolation="process", body=bad.too_huge, kind="invalid_output", reason="result_too_large", limit_s=10),
]


@pytest.fixture(autouse=True)
def _released():
    bad.RELEASED.clear()
    yield
    bad.RELEASED.set()


@pytest.fixture
def pids(tmp_path):
    """Where bodies write the ids of their grandchildren; all of them are to be gone."""
    path = tmp_path / "pids"
    yield path
    left = [int(pid) for pid in path.read_text().split()] if path.exists() else []
    assert [pid for pid in left if is_alive(pid)] == []


async def warmed(harness: Harness) -> list[int]:
    """Have the workers ready, because the table is about the body's time and not about the first import."""
    pids: list[int] = []
    for runner in harness._runners.processes.values():
        await runner.warm()
        pids += [pid for pid in (*runner.stats().pids, runner.stats().supervisor_pid) if pid]
    return pids


def place_of(harness: Harness) -> int | None:
    (stats,) = [each for each in harness.stats().tools if each.name == "bad"]
    return stats.running


@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_row(row, pids, tmp_path):
    """Answered on time, honestly; its place, the ledger and the machine are as they should be."""
    tools = [bad.tool_of(row.body, row.isolation, row.limit_s), bad.well_of(row.isolation)]
    arguments = {name: str(pids) if value == "PIDS" else value for name, value in row.arguments.items()}
    url = f"sqlite:///{tmp_path}/ledger.db"
    harness = Harness(tools, policy=Policy(retry=None, breaker=None), store=url, builtins=False, config=None)
    async with harness, harness.run("r") as run:
        workers = await warmed(harness)
        began = time.monotonic()
        result = await run.call("bad", arguments)
        took = time.monotonic() - began
        assert took <= row.limit_s * 1.1 + SLACK_S
        if row.kind is None:
            assert result.ok, result.error
            assert result.late == row.late
            assert len(result.content) < 11_000
            assert await harness.doubts() == []
        else:
            await check_failure(harness, row, result)
        assert (await run.call("good", {"a": 1})).ok
        await check_end(harness, row, result, run, arguments)
        workers += await warmed(harness)
    assert [pid for pid in workers if is_alive(pid)] == []


async def check_failure(harness: Harness, row: Row, result: Any) -> None:
    """The error's words, and the doubt where there is one."""
    error = result.error
    assert error is not None
    assert (str(error.kind), error.reason) == (row.kind, row.reason)
    done = row.kind == "invalid_output"
    assert error.effect == ("done" if done else "possible")
    if row.runs_on:
        assert place_of(harness) == 1, "a body that runs keeps its place"
        assert harness.stats().zombies == 1
        assert await harness.doubts() == []
    else:
        assert place_of(harness) == 0
        assert harness.stats().zombies == 0
        assert [doubt.id for doubt in await harness.doubts()] == ([] if done else [result.doubt])


async def check_end(harness: Harness, row: Row, result: Any, run: Any, arguments: Any) -> None:
    """An identical call meets what is known; a body that ran on ends, and its end is written down."""
    again = await run.call("bad", arguments)
    if not row.runs_on:
        assert again.attempts == 0, "nothing of it is run a second time"
        assert again.replayed or again.error.kind in ("in_doubt", "invalid_output")
        return
    assert again.error.reason == "already_running"
    bad.RELEASED.set()
    await until(lambda: harness.stats().zombies == 0 and place_of(harness) == 0)
    fails = row.body is bad.thread_raises_in_cleanup
    await asyncio.sleep(0.1)  # the late outcome is written by another thread
    final = await run.call("bad", arguments)
    if fails:
        assert final.error.kind == "in_doubt"
    else:
        assert (final.replayed, final.value) == (True, "late")
