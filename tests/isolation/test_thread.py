"""Bodies in threads: answered on time, counted until they end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from failsoft.core.context import CallContext
from failsoft.core.errors import Overloaded, UsageError
from failsoft.isolation.thread import ThreadRunner

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")


@pytest.fixture
async def runner():
    made = ThreadRunner(max_threads=2, max_zombies=2)
    yield made
    await made.aclose(0.5)


def call() -> CallContext:
    return CallContext("tool", {})


async def until(condition, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        await asyncio.sleep(0.002)


async def give_up(job, after_s: float = 0.02):
    """Await a job for a moment, then abandon it as a harness does."""
    ended = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(after_s):
            await job
    alive = await job.abandon(
        lambda value, error: ended.append((value, error, threading.current_thread().name))
    )
    return alive, ended


async def test_value_and_error(runner):
    """The body's value and the body's own exception reach the caller."""
    assert await runner.start(lambda a, b: a + b, {"a": 1, "b": 2}, call()) == 3
    with pytest.raises(ZeroDivisionError):
        await runner.start(lambda: 1 // 0, {}, call())


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_base_exceptions_are_handed_over(runner, kind):
    """Ctrl-C, exit and a leaked cancel out of a body arrive at whoever awaits it; the thread lives on."""

    def body():
        raise kind

    with pytest.raises(kind):
        await runner.start(body, {}, call())
    assert await runner.start(lambda: 1, {}, call()) == 1


async def test_stop_iteration_does_not_hang(runner):
    """A StopIteration out of a body is an error like another one, not an endless wait."""
    with pytest.raises(RuntimeError) as caught:
        await runner.start(lambda: next(iter(())), {}, call())
    assert isinstance(caught.value.__cause__, StopIteration)


async def test_context_variables(runner):
    """The body sees the caller's context variables and cannot change them."""
    tenant.set("r-77")

    def body():
        seen = tenant.get()
        tenant.set("other")
        return seen

    assert await runner.start(body, {}, call()) == "r-77"
    assert tenant.get() == "r-77"


async def test_the_loop_goes_on(runner):
    """A sleeping body does not stop the event loop."""
    job, beats = runner.start(lambda: time.sleep(0.1), {}, call()), 0
    waiter = asyncio.ensure_future(asyncio.wait_for(job, 5))
    while not waiter.done():
        await asyncio.sleep(0.01)
        beats += 1
    assert beats >= 5


async def test_threads_are_reused_and_bounded(runner):
    """Idle threads are used again, and never more than `max_threads` work at once."""
    names = {await runner.start(lambda: threading.current_thread().name, {}, call()) for _ in range(20)}
    assert len(names) == 1
    active, peak, lock = 0, 0, threading.Lock()

    def body():
        nonlocal active, peak
        with lock:
            active += 1
            peak = max(peak, active)
        time.sleep(0.01)
        with lock:
            active -= 1

    await asyncio.gather(*(asyncio.wait_for(runner.start(body, {}, call()), 5) for _ in range(8)))
    assert peak == 2
    assert runner.stats().threads == 2


async def test_queued_and_abandoned_never_runs(runner):
    """A body that is abandoned while it waits for a thread has not started and never does."""
    gate, ran = threading.Event(), []
    busy = [runner.start(gate.wait, {}, call()) for _ in range(2)]
    job = runner.start(lambda: ran.append(1), {}, call())
    alive, _ = await give_up(job)
    assert (alive, job.started, job.outcome) == (False, False, None)
    gate.set()
    for other in busy:
        await other
    await runner.start(lambda: None, {}, call())
    assert ran == []
    assert runner.stats().queued == 0


async def test_zombie_keeps_its_thread_and_tells_once(runner):
    """A body that runs on is counted until it ends, and its late outcome is told once, from its thread."""
    gate = threading.Event()
    job = runner.start(lambda: gate.wait() and "late", {}, call())
    alive, ended = await give_up(job)
    assert alive
    assert job.started
    assert (runner.stats().zombies, runner.stats().threads) == (1, 0)
    gate.set()
    await until(lambda: ended)
    assert ended[0][:2] == ("late", None)
    assert ended[0][2].startswith("failsoft")
    await until(lambda: runner.stats().zombies == 0)
    assert len(ended) == 1
    assert job.outcome == ("late", None)


async def test_zombies_do_not_take_the_pool(runner):
    """Hung bodies are replaced by fresh threads, so a third call is answered while two hang."""
    gate = threading.Event()
    assert (await give_up(runner.start(gate.wait, {}, call())))[0]
    second = runner.start(gate.wait, {}, call())
    assert await asyncio.wait_for(runner.start(lambda: "quick", {}, call()), 2) == "quick"
    gate.set()
    await second


async def test_zombies_are_capped_with_advice(runner):
    """At `max_zombies` new bodies are refused as overloaded, with what to do; a zombie's end makes room."""
    gate = threading.Event()
    for _ in range(2):
        await give_up(runner.start(gate.wait, {}, call()))
    with pytest.raises(Overloaded) as refused:
        runner.start(lambda: None, {}, call())
    assert refused.value.reason == "too_many_zombies"
    assert refused.value.suggestion
    gate.set()
    await until(lambda: runner.stats().zombies == 0)
    assert await runner.start(lambda: 1, {}, call()) == 1


async def test_queue_is_capped():
    """A full queue refuses at once."""
    runner, gate = ThreadRunner(max_threads=1, max_queued=1), threading.Event()
    jobs = [runner.start(gate.wait, {}, call())]
    await until(lambda: runner.stats().running == 1)
    jobs.append(runner.start(gate.wait, {}, call()))
    with pytest.raises(Overloaded):
        runner.start(gate.wait, {}, call())
    gate.set()
    for job in jobs:
        await job
    await runner.aclose(1)


async def test_ended_just_before_the_abandon(runner):
    """A body that ended while its caller was giving up is no zombie, and its outcome can be read."""
    job = runner.start(lambda: 7, {}, call())
    await until(lambda: job.outcome is not None)
    assert await job.abandon(lambda *_: pytest.fail("called")) is False
    assert job.outcome == (7, None)


async def test_failing_on_end_is_logged(runner, caplog):
    """What `on_end` raises is logged and does not end the thread."""
    gate = threading.Event()
    job = runner.start(gate.wait, {}, call())
    await until(lambda: job.started)
    assert await job.abandon(lambda *_: 1 // 0)
    gate.set()
    await until(lambda: "late outcome" in caplog.text)
    assert await runner.start(lambda: 1, {}, call()) == 1


def test_several_loops():
    """One runner serves several event loops in several threads at once."""
    runner, results = ThreadRunner(max_threads=4), []

    async def main(number: int) -> None:
        for i in range(50):
            results.append(await runner.start(lambda n, i: (n, i), {"n": number, "i": i}, call()))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(main(n))) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(n, i) for n in range(3) for i in range(50)]
    asyncio.run(runner.aclose(1))


def test_closed_loop_is_tolerated():
    """A body that ends after its event loop was closed hurts nobody."""
    runner, gate = ThreadRunner(), threading.Event()

    async def main():
        runner.start(gate.wait, {}, call())
        await until(lambda: runner.stats().running == 1)

    asyncio.run(main())
    gate.set()
    asyncio.run(runner.aclose(1))
    assert runner.stats().threads == 0


async def test_close_leaves_no_thread():
    """After `aclose` no idle thread is left, and the runner refuses."""
    before = set(threading.enumerate())
    runner = ThreadRunner(max_threads=4)
    await asyncio.gather(
        *(asyncio.wait_for(runner.start(lambda: time.sleep(0.01), {}, call()), 5) for _ in range(4))
    )
    await runner.aclose(1)
    assert set(threading.enumerate()) - before == set()
    with pytest.raises(UsageError):
        runner.start(lambda: None, {}, call())


async def test_close_waits_for_the_grace_only():
    """A hung body delays `aclose` by the grace at most; what is queued behind it is refused, not forgotten."""
    runner, gate = ThreadRunner(max_threads=1), threading.Event()
    hung = runner.start(gate.wait, {}, call())
    queued = runner.start(lambda: pytest.fail("ran"), {}, call())
    await until(lambda: hung.started)
    begun = time.monotonic()
    await runner.aclose(0.05)
    assert time.monotonic() - begun < 1
    with pytest.raises(Overloaded):
        await queued
    assert not queued.started
    gate.set()
    await hung
    await until(lambda: runner.stats().threads == 0)


async def test_idle_threads_end():
    """A thread without work ends after `idle_s`, and the next call makes a new one."""
    runner = ThreadRunner(idle_s=0.02)
    await runner.start(lambda: None, {}, call())
    await until(lambda: runner.stats().threads == 0)
    assert await runner.start(lambda: 1, {}, call()) == 1
    await runner.aclose(1)
