"""Async bodies in tasks of their own."""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from failsoft.core.context import CallContext
from failsoft.core.errors import Overloaded, UsageError
from failsoft.isolation.task import TaskRunner

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")


@pytest.fixture
async def runner():
    made = TaskRunner(grace_s=0.05, max_zombies=1)
    yield made
    await made.aclose(0.5)


def call() -> CallContext:
    return CallContext("tool", {})


async def begun(runner, fn):
    """Start a body, give it a few steps of the loop."""
    job = runner.start(fn, {}, call())
    for _ in range(3):
        await asyncio.sleep(0)
    return job


async def test_value_error_and_context(runner):
    """Value, error and context variables pass between the body and its caller."""
    tenant.set("r-77")

    async def body(fail: bool) -> str:
        await asyncio.sleep(0)
        if fail:
            raise ValueError("no")
        return tenant.get()

    assert await runner.start(body, {"fail": False}, call()) == "r-77"
    with pytest.raises(ValueError, match="no"):
        await runner.start(body, {"fail": True}, call())


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_base_exceptions_are_handed_over(runner, kind):
    """Ctrl-C, exit and a leaked cancel reach whoever awaits, not the event loop."""

    async def body():
        raise kind

    job = runner.start(body, {}, call())
    with pytest.raises(kind):
        await job


async def test_cancelled_body_is_stopped(runner):
    """A body that obeys its one cancel has cleaned up when `abandon` returns False."""
    seen = []

    async def body():
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            seen.append("cleaned")

    job = await begun(runner, body)
    assert await job.abandon(lambda *_: pytest.fail("called")) is False
    assert (seen, job.started, job.outcome) == (["cleaned"], True, None)
    assert runner.stats().running == 0


async def test_body_that_swallows_is_a_zombie_until_it_ends(runner):
    """A body that swallows its cancel is left after the grace; new ones are refused; its late outcome is told once."""
    ended, gate = [], asyncio.Event()

    async def body():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await gate.wait()
        return "late"

    job = await begun(runner, body)
    assert await job.abandon(lambda value, error: ended.append((value, error))) is True
    assert runner.stats().zombies == 1
    with pytest.raises(Overloaded) as refused:
        runner.start(body, {}, call())
    assert refused.value.reason == "too_many_zombies"
    gate.set()
    await asyncio.sleep(0.01)
    assert ended == [("late", None)]
    assert (runner.stats().zombies, job.outcome) == (0, ("late", None))


async def test_answer_or_error_within_the_grace(runner):
    """A body that answers, or fails in its cleanup, within the grace is no zombie and its outcome can be read."""

    async def answers():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "after all"

    async def fails():
        try:
            await asyncio.sleep(30)
        finally:
            raise ValueError("cleanup")

    job = await begun(runner, answers)
    assert await job.abandon(lambda *_: None) is False
    assert job.outcome == ("after all", None)
    job = await begun(runner, fails)
    assert await job.abandon(lambda *_: None) is False
    assert isinstance(job.outcome[1], ValueError)


async def test_never_begun(runner):
    """A body that is abandoned before its first step never runs and counts as not started."""
    job = runner.start(lambda: pytest.fail("ran"), {}, call())
    assert await job.abandon(lambda *_: None) is False
    assert not job.started


async def test_cancel_of_the_wait_leaves_the_report(runner):
    """When the grace itself is cut short, the late outcome is still told."""
    ended, gate = [], asyncio.Event()

    async def body():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await gate.wait()

    job = await begun(runner, body)
    waiting = asyncio.ensure_future(job.abandon(lambda *outcome: ended.append(outcome), grace_s=30))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.sleep(0.01)
    assert ended == [(None, None)]
    assert runner.stats().zombies == 0


async def test_callers_cancel_does_not_reach_the_body_unseen(runner):
    """A cancel of the caller stops the wait only; the body is cancelled by `abandon`, once."""
    cancels = []

    async def body():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancels.append(1)
            raise

    job = await begun(runner, body)

    async def caller():
        await job

    task = asyncio.ensure_future(caller())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0.01)
    assert task.cancelled()
    assert cancels == []
    await job.abandon(lambda *_: None)
    assert cancels == [1]


async def test_close():
    """`aclose` cancels what runs and refuses what comes."""
    runner = TaskRunner()
    job = await begun(runner, lambda: asyncio.sleep(30))
    await runner.aclose(1)
    assert runner.stats().running == 0
    assert job.started
    with pytest.raises(UsageError):
        runner.start(asyncio.sleep, {"delay": 0}, call())
