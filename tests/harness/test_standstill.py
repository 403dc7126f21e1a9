"""Time in which a person is asked something is not the attempt's time."""

import asyncio

import pytest

from failsoft import Harness, tool
from failsoft.core.context import current
from failsoft.harness.standstill import Standstill
from failsoft.policies import Policy, Timeout
from failsoft.testing.clock import run_virtual


def asking(*steps):
    """A tool that runs through steps: ("work", seconds) or ("ask", seconds)."""

    @tool(idempotent=False, read_only=False)
    async def ask() -> str:
        """Ask a person."""
        still = Standstill(current())
        try:
            for what, seconds in steps:
                if what == "ask":
                    still.stop()
                await asyncio.sleep(seconds)
                still.go()
            return "answered"
        finally:
            still.end()

    return ask


def outcome_of(steps, timeout, *, deadline_s=None):
    async def main(clock):
        began = clock.monotonic()
        async with Harness([asking(*steps)], clock=clock, policy=Policy(timeout=timeout)) as harness:
            result = await harness.call("ask", {}, deadline_s=deadline_s)
            alive = harness._shared
            assert not alive.held
            assert not [alarm for plan in alive.plans.values() for alarm in plan.alarms.armed()]
        return result, clock.monotonic() - began

    return run_virtual(main)


TIMEOUTS = [
    Timeout(attempt_s=10, total_s=15),
    Timeout(attempt_s=10, total_s=10),
    Timeout(attempt_s=10, total_s=15, idle_s=6),
]


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_a_persons_hour_does_not_end_the_attempt(timeout):
    """However long somebody thinks, and however often, the tool's own seconds count alone."""
    steps = (("work", 2), ("ask", 3600), ("work", 3), ("ask", 3600), ("work", 2))
    result, took_s = outcome_of(steps, timeout)
    assert result.value == "answered"
    assert took_s == pytest.approx(7207)


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_the_rest_of_the_time_is_kept(timeout):
    """After the answer the attempt has what was left of its time, not more: it ends in doubt as ever."""
    result, took_s = outcome_of((("work", 2), ("ask", 1000), ("work", 100)), timeout)
    assert result.error.kind == "timeout"
    assert result.doubt
    left = 6 if timeout.idle_s else 8
    assert took_s == pytest.approx(1002 + left)


def test_the_callers_deadline_holds():
    """Whoever gave the call a deadline gets an answer by then, also while somebody thinks."""
    result, took_s = outcome_of(
        (("work", 2), ("ask", 1000)), Timeout(attempt_s=10, total_s=15), deadline_s=30
    )
    assert result.error.kind == "timeout"
    assert took_s == pytest.approx(30)


def test_an_end_in_the_middle_of_a_question_leaves_nothing():
    """A body that ends while the time stands still is settled like any other, and the total is as much later."""
    result, took_s = outcome_of((("ask", 100), ("ask", 50)), Timeout(attempt_s=10, total_s=15))
    assert result.value == "answered"
    assert took_s == pytest.approx(150)


def test_the_claim_is_kept_running():
    """The lease that was made for the attempt's own time is renewed while somebody thinks."""

    async def main(clock):
        async with Harness([asking(("ask", 3600))], clock=clock) as harness:
            running = asyncio.ensure_future(harness.call("ask", {}))
            await asyncio.sleep(1800)
            doubts = await harness.doubts()
            second = await harness.call("ask", {}, deadline_s=1)
            return doubts, second, await running

    doubts, second, first = run_virtual(main)
    assert doubts == []
    assert second.error.reason == "already_running"
    assert first.value == "answered"
