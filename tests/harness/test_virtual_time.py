"""A harness in virtual time: what works there, and what is refused because it needs real time."""

import asyncio
import logging

import pytest

from failsoft import Harness, UsageError, tool
from failsoft.harness import ending
from failsoft.harness.builder import HarnessWarning
from failsoft.stores.memory import MemoryStore
from failsoft.testing.clock import VirtualClock, run_virtual


@tool(idempotent=False)
async def pay(cents: int) -> str:
    """Pay."""
    await asyncio.sleep(20)
    return "paid"


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


def test_a_store_on_disk_is_refused(tmp_path):
    """Its answer would come after every time-out; the error says what to use."""

    async def main(clock):
        with pytest.raises(UsageError, match=r"virtual(.|\n)*store='memory'"):
            Harness([pay], store=f"sqlite:///{tmp_path}/a.db", clock=clock)
        with pytest.raises(UsageError, match="virtual"):
            Harness([pay], store=f"sqlite:///{tmp_path}/a.db")

    run_virtual(main)


def test_the_store_that_is_chosen_is_memory(tmp_path, monkeypatch):
    """`auto` chooses what works there, and leaves no file."""
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path))

    async def main(clock):
        async with Harness([pay], clock=clock) as harness:
            assert isinstance(harness._shared.store, MemoryStore)
            return await harness.call("pay", {"cents": 1})

    assert run_virtual(main).value == "paid"
    assert not list(tmp_path.iterdir())


def test_tools_in_threads_are_warned_of():
    """They are named: time jumps over what they need."""

    async def main(clock):
        with pytest.warns(HarnessWarning, match=r"threads or processes: look;.*async bodies"):
            Harness([pay, look], clock=clock)

    run_virtual(main)


async def test_a_clock_that_is_moved_by_hand_is_none_of_it(tmp_path):
    """The loop waits in real time there, so disks and threads are fine."""
    async with Harness([pay, look], store=f"sqlite:///{tmp_path}/a.db", clock=VirtualClock()) as harness:
        assert (await harness.call("look")).value == "seen"


async def test_the_end_of_a_harness_never_raises_a_time_out(monkeypatch, caplog):
    """What does not let go in time goes on by itself, and that is a line in the log."""
    monkeypatch.setattr(ending, "_LET_GO_S", -1.0)
    with caplog.at_level(logging.WARNING, "failsoft"):
        async with Harness([pay], store="memory", policy={"timeout": {"grace_s": 0.01}}) as harness:
            held = asyncio.Event()
            monkeypatch.setattr(harness._runners, "aclose", lambda grace_s: held.wait())
    assert "has not let go of everything" in caplog.text
    held.set()
    await asyncio.sleep(0)
