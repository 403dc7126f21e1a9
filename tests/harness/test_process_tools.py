"""Tools in worker processes, through the whole path."""

from __future__ import annotations

import asyncio
import os

import pytest

from failsoft import Harness, Policy, ToolCall
from tests.harness import process_tools as tools
from tests.isolation.conftest import is_alive, until

pytestmark = [pytest.mark.process, pytest.mark.slow]

PLAIN = Policy(retry=None, breaker=None)


def harness_of(*given, **options) -> Harness:
    return Harness(given, policy=PLAIN, store=options.pop("store", "memory"), builtins=False, **options)


async def warm(harness: Harness) -> None:
    for runner in harness._runners.processes.values():
        await runner.warm()


async def test_values_generators_and_context_cross():
    """Plain, async and generator tools answer as they do in a thread; progress and the call's facts cross."""
    steps: list[object] = []
    async with harness_of(
        tools.add, tools.add_async, tools.numbers, tools.numbers_async, tools.about, tools.keyed
    ) as harness:
        assert (await harness.call("add", {"a": 1})).value == 3
        assert (await harness.call("add_async", '{"a": 1}')).value == 2
        counted = await harness.call("numbers", {"n": 3}, on_progress=steps.append)
        assert counted.value == [0, 1, 2]
        assert [step.done for step in steps] == [0, 1, 2]
        assert (await harness.call("numbers_async", {"n": 2})).value == [0, 1]
        broken = await harness.call("numbers", {"n": 2, "fail": True})
        assert broken.error.context["partial"] == [0, 1]
        async with harness.run("r1") as run:
            about = await run.call("about", {"what": "half"}, deadline_s=20, on_progress=steps.append)
            assert about.value["run"] == "r1"
            assert about.value["pid"] != os.getpid()
            assert 10 < about.value["left_s"] <= 20
            key = await run.call("keyed", {"amount": 1})
            assert key.value
        assert steps[-1].message == "half"


async def test_a_killed_charge_is_in_doubt():
    """A time-out kills: no late effect can come, and what may have happened before is in doubt and not repeated."""
    async with harness_of(tools.charge) as harness:
        await warm(harness)
        began = asyncio.get_running_loop().time()
        result = await harness.call("charge", {"amount": 5})
        took = asyncio.get_running_loop().time() - began
        assert (result.error.kind, result.error.effect) == ("timeout", "possible")
        assert took < 1.5
        assert result.doubt is not None
        assert [doubt.id for doubt in await harness.doubts()] == [result.doubt]
        again = await harness.call("charge", {"amount": 5})
        assert (again.error.kind, again.attempts) == ("in_doubt", 0)
        other = await harness.call("charge", {"amount": 6, "sleep_s": 0})
        assert other.value == "charged 6"
        assert harness.stats().zombies == 0
        await harness.resolve(result.doubt, happened=False)
        third = await harness.call("charge", {"amount": 5, "sleep_s": 0})
        assert third.value == "charged 5"


async def test_a_crash_and_a_proof_after_acting_are_possible_effects():
    """A worker that dies, and a refusal after `acted()`, leave a doubt behind."""
    async with harness_of(tools.crash_after, tools.acts_then_refused, tools.add) as harness:
        died = await harness.call("crash_after", {"amount": 1})
        assert (died.error.kind, died.error.reason, died.error.effect) == (
            "internal",
            "worker_died",
            "possible",
        )
        assert died.error.context["exit_code"] == 7
        assert died.doubt
        acted = await harness.call("acts_then_refused", {"amount": 1})
        assert (acted.error.effect, bool(acted.doubt)) == ("possible", True)
        assert (await harness.call("add", {"a": 1})).value == 3


async def test_memory_by_policy():
    """`memory_mb` of a policy holds for that tool's workers only, and the error says so."""
    async with harness_of(tools.hungry, tools.add, policies={"hungry": tools.MODEST}) as harness:
        assert (await harness.call("hungry", {"megabytes": 10})).value == 10 << 20
        result = await harness.call("hungry", {"megabytes": 400})
        assert (result.error.kind, result.error.reason) == ("internal", "memory_limit")
        assert (await harness.call("add", {"a": 1})).value == 3


async def test_who_waited_for_a_worker_in_vain_was_not_begun():
    """A call that no worker was free for is overloaded, without any effect, and says nothing about the tool."""
    async with harness_of(tools.busy) as harness:
        await warm(harness)
        results = await harness.call_all([ToolCall(str(n), "busy", {"seconds": 0.3}) for n in range(6)])
        late = [result for result in results if not result.ok]
        assert any(result.ok for result in results)
        assert late
        for result in late:
            assert result.error.kind in ("overloaded", "timeout")
            assert result.error.effect == "none"
        assert "no_worker_in_time" in {result.error.reason for result in late}


async def test_the_workers_are_there_before_the_first_call_and_gone_after_the_last():
    """`async with` has the workers made, and leaves none."""
    async with harness_of(tools.add) as harness:
        (runner,) = harness._runners.processes.values()
        await until(lambda: runner.stats().idle >= 1)
        stats = runner.stats()
        assert stats.supervisor_pid is not None
    assert not any(is_alive(pid) for pid in [*stats.pids, stats.supervisor_pid])
