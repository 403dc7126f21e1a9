"""Runs in the harness's store: they wait for people, go on elsewhere, and are worked on by one at a time."""

from __future__ import annotations

import asyncio

import pytest

from failsoft.agent import Agent, Answer, FileRuns, MemoryRuns, StoreRuns
from failsoft.core.errors import Conflict, Unavailable, UsageError
from failsoft.harness.harness import Harness
from failsoft.stores import open_store
from failsoft.testing.clients import ScriptedClient
from failsoft.testing.clock import VirtualClock
from failsoft.tools import tool

ran: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


def wiper(version: str = "1"):
    """A tool that wants an approval, in some version."""

    @tool(destructive=True, approval="always", version=version)
    async def wipe(path: str) -> str:
        """Delete a folder."""
        ran.append((version, path))
        return "wiped"

    return wipe


@pytest.fixture
def url(tmp_path) -> str:
    """A store's URL."""
    return f"sqlite:///{tmp_path}/failsoft.db"


async def waiting_run(url: str, *paths: str):
    """A run that waits for an approval, its process gone; its outcome."""
    calls = [("wipe", {"path": path}) for path in paths]
    async with Harness([wiper()], store=url) as harness:
        outcome = await Agent(ScriptedClient([calls]), harness).run("clean up", run="r1")
    assert (outcome.stop_reason, ran) == ("escalated", [])
    return outcome


async def resumed(url: str, answer, *turns, version: str = "1", **options):
    """The run taken up with another harness."""
    async with Harness([wiper(version)], store=url) as harness:
        return await Agent(ScriptedClient(turns), harness, **options).resume("r1", answer=answer)


async def test_runs_are_kept_where_the_ledger_is(url):
    """A harness on disk keeps runs there by default; one in memory keeps them in memory."""
    async with Harness([wiper()], store=url) as on_disk, Harness([wiper()], store="memory") as in_memory:
        assert isinstance(Agent(ScriptedClient([]), on_disk).runs, StoreRuns)
        assert isinstance(Agent(ScriptedClient([]), in_memory).runs, MemoryRuns)


async def test_an_approval_is_waited_for_in_the_store(url):
    """Another process with the same store approves the call; it runs once, and the run ends."""
    waiting = await waiting_run(url, "/tmp/x")
    store = open_store(url)
    assert [run.id for run in await store.waiting_runs()] == ["r1"]
    await store.close()
    outcome = await resumed(url, Answer.approve(waiting.case.code), "done")
    assert (outcome.text, ran) == ("done", [("1", "/tmp/x")])
    with pytest.raises(UsageError, match="is finished"):
        await resumed(url, None)


async def test_an_approval_holds_for_one_tool_version(url):
    """A tool that was released anew meanwhile is not run on the old approval; the run asks again, and says why."""
    waiting = await waiting_run(url, "/tmp/x")
    again = await resumed(url, Answer.approve(), version="2")
    assert (again.stop_reason, ran) == ("escalated", [])
    assert "wipe was version 1 when it was asked for; now it is 2" in again.detail
    assert again.case.code != waiting.case.code
    outcome = await resumed(url, Answer.approve(again.case.code), "done", version="2")
    assert (outcome.stop_reason, ran) == ("finished", [("2", "/tmp/x")])


async def test_an_approval_holds_for_the_exact_arguments(url):
    """With two calls waiting, the approval of the first is not taken for the second, whoever gives it twice."""
    first = await waiting_run(url, "/tmp/x", "/tmp/y")
    second = await resumed(url, Answer.approve(first.case.code))
    assert (second.stop_reason, ran) == ("escalated", [("1", "/tmp/x")])
    again = await resumed(url, Answer.approve(first.case.code))
    assert (again.stop_reason, ran) == ("escalated", [("1", "/tmp/x")])
    assert f"The approval {first.case.code} is not for this call of wipe" in again.detail
    outcome = await resumed(url, Answer.approve(second.case.code), "done")
    assert (outcome.stop_reason, ran) == ("finished", [("1", "/tmp/x"), ("1", "/tmp/y")])


async def test_a_case_is_bound_to_what_it_means_and_not_to_how_it_is_written():
    """Equal arguments have one code, in whatever order and form; another value, tool or version has another."""
    from failsoft.agent import Case
    from failsoft.core.calls import ToolCall

    def code(arguments, name="wipe", version="1"):
        call = ToolCall("c", name, arguments)
        return Case(reason="approval", question="?", call=call, tool_version=version).code

    same = {code({"a": 1, "b": "ü"}), code('{"b": "ü", "a": 1}'), code(b'{"a":1,"b":"\xc3\xbc"}')}
    assert len(same) == 1
    others = {
        code({"a": 1}),
        code({"a": 1}, "wipe2"),
        code({"a": 1}, version="2"),
        code('{"a": 1'),
        code(None),
    }
    assert len(others | same) == 6
    assert Case(reason="max_turns", question="?").code == ""


async def test_an_approval_for_a_run_that_asks_for_none_is_refused(url):
    """Approving what is not in question is a mistake; ending a run that was cut off is not."""

    class Killed(BaseException):
        """Ends a process."""

    async with Harness([wiper()], store=url) as harness:
        with pytest.raises(Killed):
            await Agent(ScriptedClient(["", Killed()]), harness).run("go", run="r1")
    with pytest.raises(UsageError, match="asks for no approval: it was cut off"):
        await resumed(url, Answer.approve())
    outcome = await resumed(url, Answer.give_up("no need"))
    assert (outcome.stop_reason, outcome.detail) == ("gave_up", "no need")


@pytest.mark.parametrize("kind", ["store", "files", "memory"])
async def test_one_at_a_time_takes_a_run_up(kind, url, tmp_path):
    """While somebody works on a run, a second one is refused, and nothing is done twice."""
    store = open_store(url)
    make = {
        "store": lambda: StoreRuns(store),
        "files": lambda: FileRuns(tmp_path / "runs"),
        "memory": lambda one=MemoryRuns(): one,
    }[kind]
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(messages):
        begun.set()
        await go_on.wait()
        return "done"

    async with Harness([wiper()], store="memory") as harness:
        first = Agent(ScriptedClient(["", lambda _: 1 / 0, slow]), harness, runs=make(), retry=None)
        stopped = await first.run("go", run="r1")
        assert stopped.stop_reason == "model_error"
        working = asyncio.create_task(first.resume("r1"))
        await begun.wait()
        with pytest.raises(Conflict, match="Somebody else works on the run r1") as caught:
            await Agent(ScriptedClient([]), harness, runs=make()).resume("r1")
        assert caught.value.reason == "run_taken"
        go_on.set()
        assert (await working).text == "done"
    await store.close()


async def test_a_run_that_was_taken_up_elsewhere_stops_here(url):
    """A process that slept past its lease learns at its next step that the run goes on elsewhere, and leaves it alone."""
    store = open_store(url)
    runs = StoreRuns(store)

    async def taken_away(messages):
        await store.hold_run("r1", next(iter(runs._holders.values())), -1)  # the lease is over
        assert await store.hold_run("r1", "somebody", 60)
        return [("wipe", {"path": "/tmp/x"})]

    async with Harness([wiper()], store=url) as harness:
        outcome = await Agent(ScriptedClient([taken_away]), harness, runs=runs).run("go", run="r1")
        assert outcome.stop_reason == "interrupted"
        assert "taken up elsewhere" in outcome.detail
        with pytest.raises(Conflict):
            await Agent(ScriptedClient([]), harness, runs=StoreRuns(store)).run("go", run="r1")
    assert ran == []
    await store.close()


async def test_agents_may_share_an_open_run(url):
    """A run that is handed in open is nobody's own: the second agent works in it, the first one's state is kept."""
    async with Harness([wiper()], store=url) as harness, harness.run("r1") as shared:

        async def inner(messages):
            await Agent(ScriptedClient(["inner"]), harness).run("go", run=shared)
            return "outer"

        outcome = await Agent(ScriptedClient([inner]), harness).run("go", run=shared)
        assert outcome.text == "outer"
        assert (await Agent(ScriptedClient([]), harness).runs.load_run("r1"))["text"] == "outer"


async def test_a_store_in_trouble_stops_no_run(tmp_path):
    """Where the state cannot be kept the run goes on without, and says so."""
    (tmp_path / "file").write_text("no folder")
    events = []
    async with Harness([], store="memory", sinks=[events.append]) as harness:
        runs = StoreRuns(open_store(f"sqlite:///{tmp_path}/file/failsoft.db"))
        outcome = await Agent(ScriptedClient(["done"]), harness, runs=runs).run("go")
    assert outcome.text == "done"
    assert "store_trouble" in {str(event.name) for event in events}


async def test_a_stream_tells_of_attempts_and_waits_while_they_last():
    """A failed attempt and the wait after it are heard before the call has its result, each call's end as it comes."""
    heard, at_second_try = [], []
    tries = []

    @tool(read_only=True)
    async def shaky() -> str:
        """Fails once."""
        tries.append(1)
        if len(tries) == 1:
            raise Unavailable("down")
        at_second_try.extend(heard)
        return "ok"

    @tool(read_only=True)
    async def quick() -> str:
        """Works."""
        return "yes"

    client = ScriptedClient([[("shaky", {}), ("quick", {}), ("quick", {"x": 1})], "done"])
    harness = Harness([shaky, quick], store="memory", clock=VirtualClock())
    async with harness, Agent(client, harness).stream("go") as stream:
        async for event in stream:
            heard.append((str(event.name), event.tool))
            await asyncio.sleep(0)
    calls = [pair for pair in heard if pair[1]]
    assert ("attempt_failed", "shaky") in calls
    assert ("retry_scheduled", "shaky") in calls
    ends = [name for name, _ in calls if name in ("call_finished", "call_failed")]
    assert sorted(ends) == ["call_failed", "call_finished", "call_finished"]
    assert calls.index(("call_finished", "quick")) < calls.index(("call_finished", "shaky"))
    assert harness.listeners._by_run == {}


async def test_a_resumed_run_can_be_watched_too(url):
    """The approved call is told like any other."""
    await waiting_run(url, "/tmp/x")
    async with Harness([wiper()], store=url) as harness:
        stream = Agent(ScriptedClient(["done"]), harness).stream_resumed("r1", answer=Answer.approve())
        names = [str(event.name) for event in [event async for event in stream] if event.tool]
    assert names == ["call_admitted", "call_finished"]
    assert stream.outcome.text == "done"
