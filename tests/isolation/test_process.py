"""Bodies in workers: what goes in, what comes out, what is told on the way."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from datetime import date

import pytest

from failsoft.core.context import CallContext
from failsoft.core.errors import InternalError, InvalidOutput, NotFound, Overloaded, UsageError
from failsoft.isolation.process import ProcessRunner
from tests.isolation import bodies
from tests.isolation.conftest import is_alive, until

pytestmark = [pytest.mark.process, pytest.mark.slow]


def call(**options) -> CallContext:
    made = CallContext("tool", {}, **options)
    made.attempt = 1
    return made


async def test_values_both_ways(runner):
    """Sync and async bodies answer; a default that was not given stays the body's own."""
    assert await runner.start(bodies.add, {"a": 1, "b": 3}, call()) == 4
    assert await runner.start(bodies.add, {"a": 1}, call()) == 3
    assert await runner.start(bodies.add_async, {"a": 1}, call()) == 3
    assert await runner.start(bodies.pid, {}, call()) != os.getpid()


async def test_types_survive(runner):
    """Models, dataclasses, bytes, dates and number keys arrive as what they were, and so does the result."""
    given = bodies.Weather(city="Beijing", day=date(2026, 1, 2), raw=b"ab")
    values = {
        "weather": given,
        "points": [bodies.Point(1, 0.5)],
        "names": {1: "one"},
        "raw": b"\xff\x00",
        "limit": float("inf"),
    }
    back = await runner.start(bodies.weather, values, call())
    assert back == bodies.Weather(city="Beijing 1 one", day=date(2026, 1, 2), raw=b"ab")


@pytest.mark.parametrize(
    "value",
    [None, "", "text \ud800 \x00", 2**80, -0.5, float("inf"), [1, [2]], {"a": {"b": None}}, "ü" * 300_000],
    ids=lambda value: repr(value)[:12].encode("ascii", "replace").decode(),
)
async def test_plain_values_are_exact(runner, value):
    """What JSON can hold, and any text, comes back as it went."""
    if isinstance(value, str) and "\ud800" in value:
        assert await runner.start(bodies.broken_text, {}, call()) == value
    else:
        assert await runner.start(bodies.echo, {"value": value}, call()) == value


async def test_large_arguments_and_results(runner):
    """Megabytes pass in both directions."""
    text = "x" * (8 << 20)
    assert await runner.start(bodies.echo, {"value": text}, call()) == text


async def test_context_crosses(runner, caplog):
    """Run, attempt, key and time left go in; acted, progress and log records come back."""
    steps = []
    ctx = call(run_id="run_1", deadline=time.monotonic() + 5, on_progress=steps.append)
    ctx.attempt, ctx.idempotency_key = 2, "key-1"
    with caplog.at_level(logging.WARNING):
        told = await runner.start(bodies.context, {"a": 1, "ctx": ctx}, ctx)
    assert (told["run"], told["attempt"], told["key"], told["id"]) == ("run_1", 2, "key-1", ctx.id)
    assert 0 < told["left_s"] <= 5
    assert ctx.has_acted
    assert [(step.done, step.total, step.message) for step in steps] == [(1, 2, "half")]
    assert [(r.name, r.getMessage()) for r in caplog.records if "inside" in r.getMessage()] == [
        ("tests.isolation.bodies", "from inside")
    ]


async def test_failing_progress_listener_is_logged(runner, caplog):
    """A listener that raises does not fail the call."""
    ctx = call(on_progress=lambda step: 1 // 0)
    assert (await runner.start(bodies.context, {"a": 1}, ctx))["attempt"] == 1
    assert "could not be passed on" in caplog.text


async def test_generators_become_lists(runner):
    """What a body yields becomes the list; progress goes to the listener; a failure keeps what came before."""
    steps = []
    ctx = call(on_progress=steps.append)
    assert await runner.start(bodies.numbers, {"n": 3}, ctx) == [0, 1, 2]
    assert len(steps) == 3
    assert await runner.start(bodies.numbers_async, {"n": 3}, call()) == [0, 1, 2]
    with pytest.raises(ValueError, match="after some") as failed:
        await runner.start(bodies.numbers, {"n": 2, "fail": True}, call())
    assert failed.value.failsoft_partial == [0, 1]


async def test_exceptions_keep_what_rules_read(runner):
    """Class, arguments, attributes, cause and members of an exception survive; the worker's traceback is a note."""

    async def failure(kind: str) -> BaseException:
        try:
            await runner.start(bodies.raises, {"kind": kind}, call())
        except BaseException as exc:
            return exc
        raise AssertionError

    refused = await failure("refused")
    assert (type(refused), refused.errno) == (ConnectionRefusedError, 111)
    assert "bodies.py" in refused.__notes__[-1]
    special = await failure("special")
    assert (type(special), special.code, special.extra) == (bodies.Special, 7, "more")
    assert isinstance(special.__cause__, KeyError)
    agent = await failure("agent")
    assert (type(agent), agent.reason, agent.context) == (NotFound, "no_city", {"city": "Atlantis"})
    group = await failure("group")
    assert [type(member) for member in group.exceptions] == [ValueError, TimeoutError]
    assert isinstance(await failure("cancelled"), asyncio.CancelledError)
    assert type(await failure("decode")).__name__ == "UnicodeDecodeError"


async def test_result_that_cannot_cross(runner):
    """A result that JSON cannot hold is an output error whose effect happened; the worker serves on."""
    with pytest.raises(InvalidOutput) as failed:
        await runner.start(bodies.unserializable, {}, call())
    assert (failed.value.reason, failed.value.effect) == ("unserializable", "done")
    assert await runner.start(bodies.add, {"a": 1}, call()) == 3


async def test_result_that_is_too_large(make_runner):
    """A result beyond `max_result_bytes` is not sent; the worker serves on."""
    runner = make_runner(max_result_bytes=1 << 20)
    with pytest.raises(InvalidOutput) as failed:
        await runner.start(bodies.huge, {"megabytes": 2}, call())
    assert failed.value.reason == "result_too_large"
    assert await runner.start(bodies.add, {"a": 1}, call()) == 3


async def test_argument_that_cannot_cross(runner):
    """A value that JSON cannot hold is misuse, said before anything runs."""
    with pytest.raises(UsageError, match="cannot be handed to a worker"):
        runner.start(bodies.echo, {"value": object()}, call())


async def test_printing_does_not_block_or_break(runner, capfd):
    """100 MB on standard output neither fill a pipe nor reach the answer."""
    begun = time.monotonic()
    assert await runner.start(bodies.prints, {"megabytes": 100}, call()) == "printed"
    assert time.monotonic() - begun < 5
    assert capfd.readouterr().out == ""


async def test_calls_beyond_the_workers_wait_in_order(make_runner):
    """At most `max_workers` bodies work at once; the rest wait, first come, first served."""
    runner = make_runner(max_workers=2)
    begun = time.monotonic()
    jobs = [runner.start(bodies.sleeps, {"seconds": 0.1}, call()) for _ in range(4)]
    await asyncio.gather(*(asyncio.wait_for(job, 10) for job in jobs))
    assert time.monotonic() - begun >= 0.2
    assert runner.stats().workers <= 3


async def test_queue_is_capped_and_a_queued_call_can_be_dropped(make_runner):
    """A full queue refuses; a call that is abandoned in the queue has not started and never runs."""
    runner = make_runner(max_workers=1, max_queued=1)
    first = runner.start(bodies.sleeps, {"seconds": 0.3}, call())
    await until(lambda: first.started)
    queued = runner.start(bodies.pid, {}, call())
    with pytest.raises(Overloaded):
        runner.start(bodies.pid, {}, call())
    assert await queued.abandon(lambda *_: None) is False
    assert (queued.started, queued.outcome) == (False, None)
    assert await first == "slept"
    assert await runner.start(bodies.add, {"a": 1}, call()) == 3


async def test_workers_are_recycled(make_runner):
    """After `max_calls` a worker is replaced, and after growing by `max_growth_mb`."""
    runner = make_runner(max_workers=1, max_calls=3)
    pids = [await runner.start(bodies.pid, {}, call()) for _ in range(9)]
    assert all(pids.count(pid) <= 3 for pid in pids)
    assert runner.stats().recycled_total >= 2
    runner = make_runner(max_workers=1, max_growth_mb=50)
    await runner.start(bodies.huge, {"megabytes": 30}, call())
    for _ in range(40):
        await runner.start(bodies.pid, {}, call())
    assert runner.stats().recycled_total >= 1


def test_several_loops():
    """One runner serves several event loops in several threads, and one loop after another."""
    runner, results, before = ProcessRunner(max_workers=2), [], len(os.listdir("/proc/self/fd"))

    async def main(number: int) -> None:
        for i in range(200):
            job = runner.start(bodies.add, {"a": number * 1000, "b": i}, call())
            results.append(await asyncio.wait_for(job, 10))
            if i % 7 == 0:  # lets a worker go to another loop, and come back
                await asyncio.sleep(0.0005)

    threads = [threading.Thread(target=lambda n=n: asyncio.run(main(n))) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(main(3))
    assert sorted(results) == [n * 1000 + i for n in range(4) for i in range(200)]
    asyncio.run(runner.aclose(1))
    assert runner.stats().workers == 0
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_close(make_runner):
    """`aclose` waits for its grace, then kills what works, refuses what waits, and leaves no process."""
    runner = make_runner(max_workers=1)
    hung = runner.start(bodies.sleeps, {}, call())
    queued = runner.start(bodies.pid, {}, call())
    await until(lambda: hung.started)
    pids = runner.stats().pids
    begun = time.monotonic()
    await runner.aclose(0.1)
    assert time.monotonic() - begun < 1
    with pytest.raises(Overloaded):
        await queued
    with pytest.raises(InternalError):
        await hung
    assert not any(map(is_alive, pids))
    with pytest.raises(UsageError):
        runner.start(bodies.pid, {}, call())


async def test_module_that_cannot_be_imported_there(make_runner, monkeypatch):
    """A body whose module is missing in the worker never began, and the error says so."""
    runner = make_runner()
    runner.prepare(bodies.add)
    runner._pool.bodies[bodies.add].head = b'["no_such_module","add",null]'
    job = runner.start(bodies.add, {"a": 1}, call())
    with pytest.raises(InternalError) as failed:
        await job
    assert (failed.value.reason, failed.value.effect, job.started) == ("import_failed", "none", False)
    assert isinstance(failed.value.__cause__, ModuleNotFoundError)
