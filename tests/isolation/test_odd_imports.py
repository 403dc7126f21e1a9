"""Modules that misbehave while they are imported for the workers."""

from __future__ import annotations

import asyncio

import pytest

from failsoft.core.context import CallContext
from failsoft.isolation import _pool
from tests.isolation import odd_bodies

pytestmark = [pytest.mark.process, pytest.mark.slow]


def call() -> CallContext:
    return CallContext("tool", {})


@pytest.mark.parametrize("how", ["thread", "crash"])
async def test_threads_and_crashes(make_runner, monkeypatch, caplog, how):
    """Threads begun by an import are no danger to the workers, and a crash costs the preparation, not the call."""
    monkeypatch.setenv("ODD_IMPORT", how)
    runner = make_runner(max_calls=1)
    for _ in range(3):
        assert await asyncio.wait_for(runner.start(odd_bodies.body, {}, call()), 15) == how
    assert ("importing the tools" in caplog.text) is (how == "crash")


async def test_hang(make_runner, monkeypatch):
    """An import that hangs times out the first call, which never began; then workers import by themselves."""
    monkeypatch.setenv("ODD_IMPORT", "hang")
    monkeypatch.setattr(_pool, "_START_S", 0.1)
    runner = make_runner()
    job = runner.start(odd_bodies.body, {}, call())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await job
    assert await job.abandon(lambda *_: None) is False
    assert not job.started
    assert await asyncio.wait_for(runner.start(odd_bodies.body, {}, call()), 15) == "hang"
