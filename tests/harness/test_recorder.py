"""What a harness writes into the journal of its store, and what that costs."""

import asyncio
import signal
import subprocess
import sys

import pytest

from failsoft import Harness, current, tool
from failsoft.core.events import Event, EventName
from failsoft.harness.recorder import FinishedCall


@tool(read_only=True)
async def look(at: str, times: int = 1) -> str:
    """Look."""
    return at * times


@tool(read_only=True, retry=2)
async def flaky(secret: str) -> str:
    """Fail once."""
    if current().attempt == 1:
        raise ConnectionRefusedError(f"password={secret}")
    return "ok"


def harness(tmp_path, **options):
    return Harness([look, flaky], store=f"sqlite:///{tmp_path}/failsoft.db", **options)


async def test_runs_calls_and_attempts_are_written(tmp_path):
    """A run that is left has its calls, its failed attempts and its end in the journal."""
    async with harness(tmp_path) as made:
        async with made.run("r1") as run:
            await run.call("look", {"at": "x"}, id="c1")
            await run.call("flaky", {"secret": "hunter2-hunter2"}, id="c2")
            await run.call("look", '```json\n{"at": "x"}\n```', id="c3")
        await made.call("look", {"at": "y"}, id="alone")
        journal = made.journal
        await journal.flush()
        entry = await journal.run("r1")
        assert (entry.state, entry.ended_at is not None) == ("left", True)
        calls = await journal.calls("r1")
        assert [(c.id, c.tool, c.ok, c.attempts) for c in calls] == [
            ("c1", "look", True, 1),
            ("c2", "flaky", True, 2),
            ("c3", "look", True, 1),
        ]
        assert all(call.duration_s >= 0 for call in calls)
        assert calls[2].data["repairs"][0]["rule"]
        attempts = await journal.attempts("r1")
        assert [(a.call_id, a.kind) for a in attempts] == [("c2", "network")]
        assert "hunter2" not in repr(attempts)
        assert [call.id for call in await journal.calls()][-1] == "alone"


async def test_wrong_arguments_are_written_without_their_values(tmp_path):
    """The journal knows which field was wrong and how, for statistics, and not what it held."""
    async with harness(tmp_path) as made:
        await made.call("look", {"at": "x", "times": "hunter2-hunter2"}, run="r1")
        await made.journal.flush()
        (call,) = await made.journal.calls("r1")
        assert (call.kind, call.name) == ("invalid_argument", "call_refused")
        assert call.data["problems"] == [{"field": "times", "problem": "has the wrong type"}]
        assert call.duration_s is not None


async def test_a_store_in_memory_has_no_journal():
    """Without a store that outlives the process nothing is recorded."""
    async with Harness([look], store="memory") as made:
        await made.call("look", {"at": "x"})
        assert made.journal is None


async def test_the_short_way_writes_what_an_event_would(tmp_path):
    """A plain success is written alike, whether another sink listens or not."""
    seen: list[Event] = []
    for sinks in ((), (seen.append,)):
        async with harness(tmp_path, sinks=sinks) as made:
            await made.call("look", {"at": "x"}, id="c1", run="r1")
    made = harness(tmp_path)
    first, second = await made.journal.calls("r1")
    assert {**first.data, "duration_s": 0} == {**second.data, "duration_s": 0}
    assert (first.name, first.attempts, first.run_id) == (second.name, second.attempts, second.run_id)
    assert [event.name for event in seen] == [EventName.CALL_FINISHED]
    assert FinishedCall.v == seen[0].v
    await made.aclose()


async def test_an_agents_word_about_its_end_stays(tmp_path):
    """Leaving a run does not write over the reason that somebody gave for its end, and text in pieces is not kept."""
    async with harness(tmp_path) as made:
        async with made.run("r1"):
            for name, data in (("text", {"text": "hello"}), ("run_finished", {"stop_reason": "finished"})):
                made._shared.events.emit(Event(name=EventName(name), at=1.0, run_id="r1", data=data))
        await made.journal.flush()
        assert (await made.journal.run("r1")).state == "finished"
        assert [event.name for _, event in await made.journal.events("r1")] == ["run_finished"]


@tool(read_only=True)
async def take(seconds: float) -> str:
    """Take some time."""
    await asyncio.sleep(seconds)
    return "done"


async def test_a_run_is_dated_from_its_beginning(tmp_path):
    """Not from the end of its first call: a run that is opened from then on, one by its id from its first call on."""
    async with Harness([take], store=f"sqlite:///{tmp_path}/failsoft.db") as made:
        async with made.run("opened") as run:
            await asyncio.sleep(0.1)
            await run.call("take", {"seconds": 0.2})
            await run.call("take", {"seconds": 0})
        await made.call("take", {"seconds": 0.2}, run="by id")
        async with made.run("unused"):
            pass
        await made.journal.flush()
        opened, by_id = await made.journal.run("opened"), await made.journal.run("by id")
        assert opened.ended_at - opened.started_at >= 0.28
        assert by_id.last_at - by_id.started_at >= 0.18
        names = [str(event.name) for _, event in await made.journal.events("opened")]
        assert names == ["run_started", "call_finished", "call_finished", "run_finished"]


async def test_who_tells_of_the_start_is_not_told_twice(tmp_path):
    """An agent tells of its run's start itself, with more to say."""
    async with harness(tmp_path) as made, made.run("r1") as run:
        made._shared.events.emit(Event(name=EventName.RUN_STARTED, at=1.0, run_id="r1", data={"by": "agent"}))
        await run.call("look", {"at": "x"})
        await made.journal.flush()
        names = [event.name for _, event in await made.journal.events("r1")]
        assert names == ["run_started", "call_finished"]


KILLED = """
import asyncio, os, signal, sys
from failsoft import Harness, tool

@tool(read_only=True)
async def hang() -> str:
    "Hang."
    print("begun", flush=True)
    await asyncio.sleep(60)

async def main():
    async with Harness([hang], store=f"sqlite:///{sys.argv[1]}/failsoft.db") as harness:
        await harness.call("hang", run="r1")

asyncio.run(main())
"""


@pytest.mark.process
async def test_a_killed_program_leaves_its_run(tmp_path):
    """The run is there, with its start and without an end, although its first call never ended."""
    program = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        await asyncio.sleep(1.5)  # the journal gathers for a quarter of a second
        child.send_signal(signal.SIGKILL)
    made = harness(tmp_path)
    entry = await made.journal.run("r1")
    assert (entry.state, entry.ended_at) == (None, None)
    await made.aclose()
