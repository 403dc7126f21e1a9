"""What a body may do wrong, in a process: answered in time, the place free again, nothing left running."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from failsoft.core.context import CallContext
from failsoft.core.errors import InternalError
from tests.isolation import bodies
from tests.isolation.conftest import is_alive, until, written_pid

pytestmark = [pytest.mark.process, pytest.mark.slow]

DEADLINE_S = 0.3


def call() -> CallContext:
    made = CallContext("tool", {})
    made.attempt = 1
    return made


async def time_out(runner, fn, values, deadline_s: float = DEADLINE_S):
    """Give up on a body at its deadline, as a harness does; the job, and seconds until the caller is answered."""
    job = runner.start(fn, values, call())
    await until(lambda: job.started)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await job
    assert await job.abandon(lambda *_: pytest.fail("told twice")) is False
    return job, time.monotonic() - begun


async def is_usable(runner) -> None:
    """The next calls are answered at once, by workers that are well."""
    for _ in range(3):
        assert await asyncio.wait_for(runner.start(bodies.add, {"a": 1}, call()), 5) == 3


@pytest.mark.parametrize(
    "fn",
    [
        bodies.sleeps,
        bodies.sleeps_async,
        bodies.spins,
        bodies.spins_async,
        bodies.blocks_in_c,
        bodies.swallows,
        bodies.swallows_async,
        bodies.raises_in_cleanup,
    ],
    ids=lambda fn: fn.__name__,
)
async def test_hanging_bodies_are_stopped(runner, fn):
    """However a body hangs, its caller is answered in time, its worker is gone and the next call works."""
    await is_usable(runner)
    before = set(runner.stats().pids)
    job, took_s = await time_out(runner, fn, {})
    assert took_s < DEADLINE_S + 0.25  # 0.1 s for SIGTERM, the rest for a busy machine
    assert job.started
    await is_usable(runner)
    await until(lambda: len(before - set(runner.stats().pids)) == 1)
    assert not any(map(is_alive, before - set(runner.stats().pids)))
    assert runner.stats().dying == 0


async def test_cleanup_runs_and_a_late_answer_is_kept(runner, tmp_path):
    """SIGTERM lets a body clean up; what it still answers can be read from the job, but a stopped one has no outcome."""
    path = tmp_path / "cleaned"
    job, _ = await time_out(runner, bodies.cleans_up, {"path": str(path)})
    assert path.read_text() == "cleaned"
    assert job.outcome is None
    job, _ = await time_out(runner, bodies.answers_late, {})
    assert job.outcome == ("late", None)
    job, _ = await time_out(runner, bodies.raises_in_cleanup, {})
    assert job.outcome is None or isinstance(job.outcome[1], ValueError)


@pytest.mark.parametrize("leave_group", [False, True], ids=["same group", "own session"])
async def test_grandchildren_that_ignore_sigterm_are_killed(runner, pids, leave_group):
    """A grandchild that ignores SIGTERM is gone when the caller is answered, also from a session of its own."""
    await time_out(runner, bodies.forks, {"path": str(pids), "leave_group": leave_group}, 0.6)
    assert not is_alive(written_pid(pids))
    await is_usable(runner)


async def test_orphaned_daemons_are_killed(runner, pids):
    """A daemon whose own parent has ended is still found below its worker."""
    await time_out(runner, bodies.daemonizes, {"path": str(pids)}, 1.0)
    assert not is_alive(written_pid(pids))


async def test_grandchild_of_a_crashed_worker_is_killed(runner, pids):
    """When a worker dies, what it started dies with it, before the caller is told."""
    with pytest.raises(InternalError):
        await runner.start(bodies.forks_and_crashes, {"path": str(pids)}, call())
    assert not is_alive(written_pid(pids))


@pytest.mark.parametrize(
    ("fn", "values", "told"),
    [
        (bodies.segfaults, {}, {"signal": "SIGSEGV"}),
        (bodies.exits, {"code": 3}, {"exit_code": 3}),
        (bodies.exits, {"code": 0}, {"exit_code": 0}),
        (bodies.kills_itself, {}, {"signal": "SIGKILL"}),
    ],
    ids=["segfault", "exit 3", "exit 0", "killed"],
)
async def test_death_of_a_worker_is_an_error_of_its_call_alone(runner, fn, values, told):
    """A crash is an `internal` error that names the signal or the exit code; a call beside it is unharmed."""
    beside = runner.start(bodies.sleeps, {"seconds": 0.3}, call())
    with pytest.raises(InternalError) as failed:
        await asyncio.wait_for(runner.start(fn, values, call()), 5)
    assert (failed.value.kind, failed.value.reason, failed.value.effect) == (
        "internal",
        "worker_died",
        "possible",
    )
    assert failed.value.context == told
    assert await beside == "slept"
    await is_usable(runner)


async def test_sys_exit_ends_the_call_only(runner):
    """`sys.exit` in a worker is a failure of the call, not an exit of the program."""
    with pytest.raises(InternalError, match="exit code 3") as failed:
        await runner.start(bodies.sys_exits, {}, call())
    assert failed.value.reason == "worker_died"
    await is_usable(runner)


async def test_memory_limit(make_runner):
    """A body that eats memory fails by itself with `memory_limit`, and its worker is replaced."""
    runner = make_runner(memory_mb=200)
    with pytest.raises(InternalError) as failed:
        await asyncio.wait_for(runner.start(bodies.eats_memory, {}, call()), 10)
    assert failed.value.reason == "memory_limit"
    await is_usable(runner)


async def test_cpu_limit(make_runner):
    """A body that uses more processor time than it may is ended by the kernel, told as `cpu_limit`."""
    runner = make_runner(cpu_s=0.5)
    await is_usable(runner)
    with pytest.raises(InternalError) as failed:
        await asyncio.wait_for(runner.start(bodies.uses_cpu, {}, call()), 10)
    assert failed.value.reason == "cpu_limit"
    await is_usable(runner)


async def test_ended_before_the_abandon(runner):
    """A body that answered while its caller gave up is not killed, and its outcome can be read."""
    killed = runner.stats().killed_total
    job = runner.start(bodies.add, {"a": 1}, call())
    await until(lambda: job.outcome is not None)
    assert await job.abandon(lambda *_: pytest.fail("told")) is False
    assert (job.outcome, runner.stats().killed_total) == ((3, None), killed)


async def test_no_grace_is_told_later(runner):
    """Where nobody waits for the kill, the end is told to `on_end`, once."""
    ended = []
    job = runner.start(bodies.sleeps, {}, call())
    await until(lambda: job.started)
    assert await job.abandon(lambda *outcome: ended.append(outcome), grace_s=0) is True
    await until(lambda: ended)
    assert isinstance(ended[0][1], InternalError)
    assert len(ended) == 1


async def test_many_hung_calls_at_once(make_runner):
    """Two hung calls do not exhaust a pool of two."""
    runner = make_runner(max_workers=2)
    await runner.warm()
    jobs = [runner.start(bodies.spins, {}, call()) for _ in range(2)]
    await until(lambda: all(job.started for job in jobs))
    waiting = asyncio.ensure_future(asyncio.wait_for(runner.start(bodies.add, {"a": 1}, call()), 5))
    await asyncio.gather(*(job.abandon(lambda *_: None) for job in jobs))
    assert await waiting == 3


async def test_supervisor_killed(make_runner, caplog):
    """When the supervisor is killed its workers go too, the calls at work fail, and the next call starts anew."""
    runner = make_runner()
    await runner.warm()
    job = runner.start(bodies.sleeps, {}, call())
    await until(lambda: job.started)
    stats = runner.stats()
    os.kill(stats.supervisor_pid, signal.SIGKILL)
    with pytest.raises(InternalError) as failed:
        await asyncio.wait_for(job, 5)
    assert failed.value.reason == "worker_died"
    await until(lambda: not any(map(is_alive, stats.pids)))
    await is_usable(runner)
    assert "supervisor" in caplog.text


async def test_idle_worker_killed(make_runner):
    """A worker that dies while idle is replaced; no call notices."""
    runner = make_runner()
    await runner.warm()
    for _ in range(3):
        pid = await runner.start(bodies.pid, {}, call())
        os.kill(pid, signal.SIGKILL)
        assert await asyncio.wait_for(runner.start(bodies.add, {"a": 1}, call()), 5) == 3
