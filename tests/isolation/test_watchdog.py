"""Event loops that are blocked."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from failsoft.core.context import CallContext
from failsoft.isolation.watchdog import ADVICE, Watchdog

pytestmark = pytest.mark.slow


async def blocking_tool() -> None:
    """An async tool that does what it must not."""
    time.sleep(0.3)


async def drive(call: CallContext, body) -> None:
    """Stands for the runtime, whose frames hold the call."""
    await body()


async def until(condition) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


async def test_names_the_tool_and_says_what_to_do():
    """A blocked loop is reported once, with the tool, the place and the advice."""
    seen, before = [], threading.active_count()
    dog = Watchdog(seen.append, threshold_s=0.08)
    dog.watch()
    dog.watch()
    await asyncio.sleep(0.1)
    assert seen == []
    await drive(CallContext("reindex", {}), blocking_tool)
    await until(lambda: dog.stats().worst_s > 0.25)
    assert [(report.tool, report.advice) for report in seen] == [("reindex", ADVICE)]
    assert "test_watchdog.py" in seen[0].where
    assert seen[0].blocked_s < 0.3
    assert dict(dog.stats().tools) == {"reindex": 1}
    dog.unwatch()
    assert threading.active_count() <= before


async def test_unknown_culprit_and_failing_report(caplog):
    """A blockage by other code is reported without a tool, and what the report raises is logged."""
    dog = Watchdog(lambda report: 1 // 0, threshold_s=0.05)
    dog.watch()
    await asyncio.sleep(0)
    time.sleep(0.2)
    await until(lambda: "blocked event loop failed" in caplog.text)
    assert dict(dog.stats().tools) == {"": 1}
    dog.unwatch()


def test_ended_loops_are_forgotten():
    """A loop that is not running is not blocked, and one that was closed ends the watch."""
    seen = []
    dog = Watchdog(seen.append, threshold_s=0.05)

    async def main():
        dog.watch()
        await asyncio.sleep(0.06)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    time.sleep(0.15)
    loop.run_until_complete(main())
    loop.close()
    end = time.monotonic() + 5
    while dog._thread is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert dog._thread is None
    assert seen == []
