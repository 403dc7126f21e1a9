"""The end of a harness: running calls are waited for, the others stopped and settled, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time

import pytest

from failsoft import Bulkhead, Harness, Policy, Retry, Timeout, ToolCall, tool
from failsoft.errors import Unavailable
from failsoft.harness.sync_door import background_loop
from tests.harness import process_tools
from tests.isolation.conftest import is_alive, until

PLAIN = Policy(retry=None, breaker=None, timeout=Timeout(attempt_s=30, total_s=60, grace_s=0.2))


def harness_of(*given, policy=PLAIN, **options) -> Harness:
    return Harness(given, policy=policy, store=options.pop("store", "memory"), builtins=False, **options)


async def begun(*tasks: asyncio.Task) -> None:
    """Wait a moment in which they go on as far as they do."""
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in tasks)


@pytest.mark.slow
async def test_a_call_that_has_not_begun_does_not_begin(tmp_path):
    """A call that still asks the ledger when the harness ends is refused, and the store is there as long as it asks."""
    ran = []

    @tool(read_only=False)
    async def charge(amount: int) -> str:
        """Charge."""
        ran.append(amount)
        return "charged"

    for steps in range(6):
        harness = harness_of(charge, store=f"sqlite:///{tmp_path}/{steps}.db")
        task = asyncio.create_task(harness.call("charge", {"amount": steps}))
        for _ in range(steps):
            await asyncio.sleep(0)
        await harness.aclose()
        result = await task
        assert result.ok or (result.error.reason, result.error.effect) == ("shutting_down", "none")
        assert result.ok == (steps in ran)


async def test_running_calls_end_within_the_grace(tmp_path):
    """A charge that runs at the end is waited for, and the ledger remembers it."""
    runs = asyncio.Event()

    @tool(read_only=False)
    async def charge(amount: int) -> str:
        """Charge."""
        runs.set()
        await asyncio.sleep(0.1)
        return "charged"

    url = f"sqlite:///{tmp_path}/a.db"
    harness = harness_of(charge, store=url)
    run = harness.run("r1")
    task = asyncio.create_task(run.call("charge", {"amount": 1}))
    await runs.wait()
    await harness.aclose()
    assert (await task).value == "charged"
    async with harness_of(charge, store=url) as again:
        result = await again.run("r1").call("charge", {"amount": 1})
        assert result.replayed


@pytest.mark.parametrize("deadline_s", [None, 20])
async def test_what_outlasts_the_grace_is_stopped_and_settled(tmp_path, deadline_s):
    """Its caller gets a result and no cancel; the effect is in doubt."""
    stopped: list[bool] = []
    runs = asyncio.Event()

    @tool(read_only=False)
    async def charge(amount: int) -> str:
        """Charge."""
        runs.set()
        try:
            await asyncio.sleep(30)
        finally:
            stopped.append(True)
        return "charged"

    url = f"sqlite:///{tmp_path}/a.db"
    harness = harness_of(charge, store=url)
    task = asyncio.create_task(harness.call("charge", {"amount": 1}, deadline_s=deadline_s))
    await runs.wait()
    began = time.monotonic()
    await harness.aclose()
    assert time.monotonic() - began < 1.5
    result = await task
    assert task.cancelling() == 0
    assert stopped
    assert (result.error.kind, result.error.reason, result.error.effect) == (
        "cancelled",
        "shutting_down",
        "possible",
    )
    async with harness_of(charge, store=url) as again:
        assert [doubt.id for doubt in await again.doubts()] == [result.doubt]


@pytest.mark.slow
@pytest.mark.process
async def test_threads_and_processes_are_stopped_too():
    """A process is killed, a thread is left to itself, and both of their callers have a result."""
    free = threading.Event()

    @tool(read_only=False)
    def hangs(n: int) -> str:
        """Hang in a thread."""
        free.wait(20)
        return "late"

    slow = harness_of(
        hangs, process_tools.charge.replace(timeout_s=None, timeout=Timeout(attempt_s=30, grace_s=0.2))
    )
    tasks = [
        asyncio.create_task(slow.call("hangs", {"n": 1})),
        asyncio.create_task(slow.call("charge", {"amount": 1})),
    ]
    await until(lambda: slow._runners.processes[None].stats().busy == 1)
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await slow.aclose()
    assert time.monotonic() - began < 2.5
    assert all(task.done() for task in tasks)
    free.set()
    for task in tasks:
        error = (await task).error
        assert (error.reason, error.effect) == ("shutting_down", "possible")


async def test_no_new_calls_while_it_ends():
    """A call that comes too late is refused; a second close does nothing."""

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    harness = harness_of(look)
    await harness.aclose()
    result = await harness.call("look")
    assert (result.error.kind, result.error.reason) == ("overloaded", "shutting_down")
    await harness.aclose()


async def test_waits_end_at_once():
    """A back-off, a queue and a person are not waited for: nothing was started, or the failure is the answer."""

    @tool(read_only=True, retry=Retry(max_attempts=3, base_s=30, cap_s=50, jitter="none"))
    async def flaky() -> str:
        """Fail."""
        raise Unavailable("down")

    @tool(read_only=True, bulkhead=Bulkhead(limit=1, queue=5), timeout_s=30)
    async def narrow() -> str:
        """Take the one place."""
        await asyncio.sleep(0.12)
        return "done"

    @tool(read_only=False, approval="always")
    async def asks() -> str:
        """Need a person."""
        return ""

    async def approve(call, asked) -> bool:
        await asyncio.sleep(60)
        return True

    harness = harness_of(flaky, narrow, asks, approve=approve)
    names = ["flaky", "narrow", "narrow", "asks"]
    tasks = [asyncio.create_task(harness.call(name)) for name in names]
    await begun(*tasks)
    began = time.monotonic()
    await harness.aclose()
    assert time.monotonic() - began < 1
    flaked, first, second, asked = await asyncio.gather(*tasks)
    assert (flaked.error.kind, flaked.error.context["stopped"]) == ("unavailable", "shutting_down")
    assert first.value == "done"
    assert second.error.reason == asked.error.reason == "shutting_down"
    assert second.attempts == asked.attempts == 0
    assert [task.cancelling() for task in tasks] == [0] * 4


async def test_a_body_that_closes_its_own_harness_does_not_wait_for_itself():
    """The call in which the harness is closed ends in the ordinary way."""

    @tool(read_only=False)
    async def last() -> str:
        """Close."""
        await harness.aclose()
        return "closed"

    harness = harness_of(last)
    began = time.monotonic()
    result = await harness.call("last")
    assert time.monotonic() - began < 0.15
    assert result.ok


async def test_a_cancel_of_the_closing_hurries_it():
    """Cancelled, the end does not wait for the grace, settles all the same, and the cancel is passed on."""

    @tool(read_only=True)
    async def slow() -> str:
        """Work."""
        await asyncio.sleep(30)
        return ""

    harness = harness_of(slow, policy=Policy(retry=None, timeout=Timeout(grace_s=10)))
    task = asyncio.create_task(harness.call("slow"))
    await begun(task)
    closing = asyncio.create_task(harness.aclose())
    await begun(closing)
    began = time.monotonic()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert time.monotonic() - began < 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Census:
    """What a process has: tasks, threads, descriptors, children."""

    def __init__(self) -> None:
        gc.collect()
        self.tasks = set(asyncio.all_tasks())
        self.threads = {thread.name for thread in threading.enumerate()}
        self.files = len(os.listdir("/proc/self/fd"))
        with open(f"/proc/self/task/{threading.get_native_id()}/children") as children:
            self.children = [int(pid) for pid in children.read().split() if is_alive(int(pid))]

    def __sub__(self, before: Census) -> dict[str, object]:
        return {
            "tasks": self.tasks - before.tasks,
            "threads": self.threads - before.threads,
            "files": max(0, self.files - before.files),
            "children": sorted(set(self.children) - set(before.children)),
        }


NOTHING = {"tasks": set(), "threads": set(), "files": 0, "children": []}


def bad_tools(free: threading.Event):
    """Tools that hang in a thread until they are freed, swallow a cancel, sleep, and fail."""

    @tool(read_only=False, timeout_s=0.1)
    def hangs(n: int) -> str:
        """Hang in a thread until it is freed."""
        free.wait(20)
        return "late"

    @tool(read_only=False, timeout_s=0.1, isolation="task")
    async def swallows(n: int) -> str:
        """Swallow the cancel for a while."""
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                pass
        return "late"

    @tool(read_only=True, timeout_s=0.1)
    async def sleeps() -> str:
        """Sleep."""
        await asyncio.sleep(20)
        return ""

    @tool(read_only=True)
    def fails() -> str:
        """Fail."""
        raise ValueError("no")

    return hangs, swallows, sleeps, fails, process_tools.charge, process_tools.add


async def misbehave(harness: Harness) -> None:
    """Successes, failures, zombies, kills and a cancel."""
    calls = [ToolCall(str(n), name, {"n": n}) for n, name in enumerate(["hangs", "swallows"] * 3)]
    calls += [ToolCall("s", "sleeps", {}), ToolCall("f", "fails", {})]
    calls += [ToolCall("c", "charge", {"amount": 1}), ToolCall("a", "add", {"a": 1})]
    results = await harness.call_all(calls)
    assert len(results) == len(calls)
    assert harness.stats().zombies >= 3
    cancelled = asyncio.create_task(harness.call("charge", {"amount": 2}))
    await asyncio.sleep(0.1)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled


@pytest.mark.slow
@pytest.mark.process
async def test_nothing_is_left_behind(tmp_path):
    """After all kinds of ends there is no task, thread, process or descriptor more than before."""
    background_loop()  # one for the whole process, and it stays
    await asyncio.to_thread(int)  # the event loop's own pool, ended with it
    free = threading.Event()
    for round in range(2):
        free.clear()
        before = Census()
        async with harness_of(*bad_tools(free), store=f"sqlite:///{tmp_path}/{round}.db") as harness:
            await misbehave(harness)
        free.set()  # a thread cannot be ended from outside; its end is its own
        left: dict[str, object] = {}
        end = time.monotonic() + 5
        while left != NOTHING and time.monotonic() < end:
            await asyncio.sleep(0.05)
            left = Census() - before
        assert left == NOTHING


def watchdogs() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "failsoft-watchdog"]


@pytest.mark.slow
async def test_a_tool_that_blocks_the_loop_is_named():
    """The event names the tool and says what to do; `stats()` counts it; a harness that does not want it has none."""
    events = []
    before = len(watchdogs())  # that of a harness in another loop, which nobody has closed

    @tool(read_only=True)
    async def blocks() -> str:
        """Block."""
        time.sleep(0.9)
        return "done"

    def note(event) -> None:
        events.append(event)

    async with harness_of(blocks, sinks=[note]) as harness:
        assert (await harness.call("blocks")).value == "done"
        assert harness.stats().loop_blocked == {"blocks": 1}
    (told,) = [event for event in events if event.name == "loop_blocked"]
    assert told.tool == "blocks"
    assert "isolation='thread'" in told.data["advice"]
    async with harness_of(blocks, watch_loop=False) as harness:
        await harness.call("blocks")
        assert harness.stats().loop_blocked == {}
    assert len(watchdogs()) <= before


@pytest.mark.slow
async def test_a_loop_that_is_busy_with_many_calls_blames_none_of_them():
    """A thousand short calls in one turn of the loop are late together, and no tool is named for it."""

    @tool(read_only=True)
    async def brief() -> str:
        """Take a moment."""
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass
        return "done"

    async with harness_of(brief) as harness:
        await asyncio.gather(*(harness.call("brief") for _ in range(1000)))
        assert harness.stats().loop_blocked == {}
