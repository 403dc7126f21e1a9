"""Who listens to a run hears its calls while they happen."""

import asyncio

from failsoft.core.clock import SystemClock
from failsoft.core.errors import Unavailable
from failsoft.harness.harness import Harness
from failsoft.testing.clock import VirtualClock
from failsoft.tools import tool


@tool(read_only=True)
async def fine() -> str:
    """Works."""
    return "yes"


def shaky(clock=None, heard=None, seen=None):
    """A tool that works the second time, and notes what was heard by then."""
    tries = []

    @tool(read_only=True)
    async def shaky() -> str:
        """Fails once."""
        tries.append(1)
        if len(tries) == 1:
            raise Unavailable("down, token=sk-abcdefghijklmnopqrstuvwxyz123456")
        if seen is not None:
            seen.extend(str(event.name) for event in heard)
        return "ok"

    return shaky


async def test_attempts_and_waits_are_heard_before_the_result_is_there():
    """The second attempt begins after the first one's failure and the wait were told."""
    heard, seen = [], []
    clock = VirtualClock()
    async with Harness([shaky(clock, heard, seen)], store="memory", clock=clock) as harness:
        end = harness.listen("r1", heard.append)
        async with harness.run("r1") as run:
            assert (await run.call("shaky", {})).value == "ok"
        end()
    assert seen == ["attempt_failed", "retry_scheduled"]
    assert [str(event.name) for event in heard] == ["attempt_failed", "retry_scheduled", "call_finished"]
    assert {event.run_id for event in heard} == {"r1"}
    assert "sk-abcdef" not in str(heard)


async def test_only_the_run_that_is_listened_to_is_heard():
    """Other runs, and calls without one, are not; a plain success of the run is."""
    heard, other = [], []
    async with Harness([fine], store="memory") as harness:
        end, end_other = harness.listen("r1", heard.append), harness.listen("r2", other.append)
        await asyncio.gather(
            harness.call("fine", {}),
            harness.call("fine", {}, run="r3"),
            harness.call("fine", {}, run="r1", id="c1"),
        )
        end()
        await harness.call("fine", {}, run="r1")
        await harness.call("fine", {}, run="r2")
        end_other()
        end_other()
    assert [(str(event.name), event.call_id) for event in heard] == [("call_finished", "c1")]
    assert len(other) == 1


async def test_the_usual_sinks_hear_what_they_heard_before():
    """Listening takes nothing from the other sinks, and ends without a trace."""
    events = []
    async with Harness([fine], store="memory", sinks=[events.append]) as harness:
        before = harness._shared.events
        end = harness.listen("r1", lambda event: 1 / 0)
        assert (await harness.call("fine", {}, run="r1")).ok
        end()
        assert harness._shared.events is before
    assert [str(event.name) for event in events] == ["call_finished"]


async def test_a_harness_shows_its_clock_and_its_classifier():
    """Whoever builds on a harness lives in the same time and judges failures alike."""
    clock = VirtualClock()
    async with (
        Harness([fine], store="memory", clock=clock) as harness,
        Harness([fine], store="memory") as plain,
    ):
        assert harness.clock is clock
        assert isinstance(plain.clock, SystemClock)
        assert harness.classifier.classify(Unavailable("x")).kind == "unavailable"
        assert "memory" in repr(harness.store).lower()
