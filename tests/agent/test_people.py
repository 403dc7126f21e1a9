"""Escalation, approvals, and runs that go on later, also in another process."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import textwrap

import pytest

from failsoft.agent import Agent, Answer, FileRuns, Limits
from failsoft.core.errors import NotFound, UsageError
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool

ran: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


@tool(read_only=True)
async def lookup(name: str) -> str:
    """Find a thing."""
    ran.append(name)
    if name != "right":
        raise NotFound("no such thing")
    return "found"


@tool(destructive=True, approval="always")
async def wipe(path: str) -> str:
    """Delete a folder."""
    ran.append(path)
    return "wiped"


BAD = [("lookup", {"name": "wrong"})]
WIPE = [("wipe", {"path": "/tmp/x"}), ("lookup", {"name": "right"})]


def harness():
    """A fresh one."""
    return Harness([lookup, wipe], store="memory")


async def test_guidance_lets_a_stuck_run_go_on():
    """At a limit a person is asked; text goes to the model and the counts begin anew."""
    cases = []

    async def person(case):
        cases.append(case)
        return "Look for 'right'."

    client = ScriptedClient([BAD] * 4 + [[("lookup", {"name": "right"})], "found it"])
    async with harness() as tools:
        outcome = await Agent(client, tools, on_escalate=person).run("find it")
    assert (outcome.stop_reason, outcome.text) == ("finished", "found it")
    assert [(case.reason, case.call.name) for case in cases] == [("same_call", "lookup")]
    assert len(cases[0].errors) == 2
    assert "Look for 'right'." in json.dumps(client.requests[4].messages[-1])


async def test_a_person_can_correct_the_arguments():
    """Corrected arguments are run at once, under the call's own id."""
    client = ScriptedClient([BAD] * 4 + ["found it"])
    async with harness() as tools:
        agent = Agent(client, tools, on_escalate=lambda _: Answer.correct({"name": "right"}))
        outcome = await agent.run("find it")
    assert outcome.stop_reason == "finished"
    assert ran[-1] == "right"
    assert client.requests[4].messages[-1]["content"][0]["content"] == "found"


@pytest.mark.parametrize(
    ("given", "reason"),
    [(Answer.give_up("enough"), "gave_up"), (None, "escalated")],
    ids=["give up", "nobody"],
)
async def test_giving_up_and_nobody_there_end_the_run(given, reason):
    """A person may end the run, and a person may not be there; both leave a valid history."""
    client = ScriptedClient([], then=BAD)
    async with harness() as tools:
        outcome = await Agent(client, tools, on_escalate=lambda _: given).run("find it")
    assert outcome.stop_reason == reason
    assert outcome.case.question
    assert outcome.messages[-1]["role"] == "user"


async def test_a_person_who_raises_does_not_break_the_run():
    """What `on_escalate` raises is logged, and the run ends at its limit."""

    def person(case):
        raise RuntimeError("no network")

    client = ScriptedClient([], then=BAD)
    async with harness() as tools:
        outcome = await Agent(client, tools, on_escalate=person).run("find it")
    assert outcome.stop_reason == "same_call"


@pytest.mark.parametrize(
    ("given", "done"),
    [(Answer.approve(), ["/tmp/x"]), (Answer.correct({"path": "/tmp/y"}), ["/tmp/y"]), ("leave it", [])],
)
async def test_an_approval_is_asked_for_by_the_same_way(given, done):
    """A call that waits for an approval is run as approved, run as corrected, or left with the guidance."""
    client = ScriptedClient([WIPE, "done"])
    async with harness() as tools:
        outcome = await Agent(client, tools, on_escalate=lambda _: given).run("clean up")
    assert outcome.stop_reason == "finished"
    assert [one for one in ran if one != "right"] == done


async def test_without_a_person_the_model_reads_that_an_approval_is_missing():
    """Nobody to ask and nowhere to wait: the call is denied and the run goes on."""
    client = ScriptedClient([WIPE, "I may not."])
    async with harness() as tools:
        outcome = await Agent(client, tools).run("clean up")
    assert outcome.stop_reason == "finished"
    assert outcome.calls[0].error.reason == "approval_required"


async def test_a_waiting_run_goes_on_with_an_answer():
    """The run waits; after the answer only the call in question runs, its sibling's result is kept."""
    client = ScriptedClient([WIPE, "done"])
    async with harness() as tools:
        agent = Agent(client, tools, on_escalate=lambda _: None)
        waiting = await agent.run("clean up")
        assert (waiting.stop_reason, ran) == ("escalated", ["right"])
        assert waiting.case.call.name == "wipe"
        outcome = await agent.resume(waiting, answer=Answer.approve())
    assert (outcome.stop_reason, outcome.run_id) == ("finished", waiting.run_id)
    assert ran == ["right", "/tmp/x"]
    assert [result.ok for result in outcome.calls] == [True, True]


async def test_a_run_that_stopped_at_a_limit_can_be_taken_up():
    """After a stop, text goes to the model and the limits begin anew."""
    client = ScriptedClient([BAD] * 4 + [[("lookup", {"name": "right"})], "found it"])
    async with harness() as tools:
        agent = Agent(client, tools, limits=Limits(max_turns=10))
        stopped = await agent.run("find it")
        assert stopped.stop_reason == "same_call"
        outcome = await agent.resume(stopped.run_id, answer="Look for 'right'.")
    assert outcome.text == "found it"
    assert len(outcome.errors) == 2


async def test_text_for_a_run_that_was_cut_off_in_a_turn_comes_after_its_results(tmp_path):
    """The calls of the turn are answered first; then the model reads what the person said."""

    class Dying(FileRuns):
        """Forgets what comes after the first turn, as a kill would."""

        async def save_run(self, run_id, state):
            if not list(self.folder.glob("*.json")):
                await super().save_run(run_id, state)

    client = ScriptedClient([[("lookup", {"name": "right"})], "never kept"])
    async with harness() as tools:
        await Agent(client, tools, runs=Dying(tmp_path)).run("find it", run="r1")
        again = ScriptedClient(["found it"])
        outcome = await Agent(again, tools, runs=FileRuns(tmp_path)).resume("r1", answer="Be quick.")
    assert outcome.text == "found it"
    last = again.requests[0].messages[-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert last[1]["text"] == "Be quick."


async def test_an_approval_pauses_a_stored_run_until_somebody_answers(tmp_path):
    """With durable runs and nobody to ask, the run waits; another process approves exactly that call."""
    runs = FileRuns(tmp_path)
    async with harness() as tools:
        waiting = await Agent(ScriptedClient([WIPE]), tools, runs=runs).run("clean up")
    assert (waiting.stop_reason, waiting.case.reason, ran) == ("escalated", "approval", ["right"])
    async with harness() as tools:
        client = ScriptedClient(["done"])
        outcome = await Agent(client, tools, runs=runs).resume(waiting.run_id, answer=Answer.approve())
    assert (outcome.text, ran) == ("done", ["right", "/tmp/x"])
    assert [block["content"] for block in client.requests[0].messages[-1]["content"]] == ["wiped", "found"]


async def test_approvals_do_not_hide_a_loop():
    """A call that is approved again and again and fails each time is still found to repeat itself."""

    @tool(destructive=True, approval="always")
    async def break_in(door: str) -> str:
        """Never works."""
        ran.append(door)
        raise NotFound("no such door")

    client = ScriptedClient([], then=[("break_in", {"door": "7"})])

    def person(case):
        return Answer.approve() if case.reason == "approval" else Answer.give_up("no more")

    async with Harness([break_in], store="memory") as tools:
        outcome = await Agent(client, tools, on_escalate=person).run("go")
    assert outcome.stop_reason == "gave_up"
    assert len(ran) <= 2


async def test_what_cannot_be_resumed_is_said():
    """An unknown run and a finished one are the caller's mistake."""
    async with harness() as tools:
        agent = Agent(ScriptedClient(["done"]), tools)
        outcome = await agent.run("go")
        with pytest.raises(UsageError, match="is finished"):
            await agent.resume(outcome)
        with pytest.raises(UsageError, match="no run 'x'"):
            await agent.resume("x")


async def test_a_stored_run_is_private_and_its_id_cannot_leave_the_folder(tmp_path):
    """Files are for their owner only; an id from outside is only ever a name in the folder."""
    runs = FileRuns(tmp_path / "runs")
    await runs.save_run("../../evil", {"v": 1})
    (path,) = (tmp_path / "runs").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert await runs.load_run("../../evil") == {"v": 1}
    assert await runs.load_run("other") is None


SCRIPT = """
    import asyncio, os, sys
    from pathlib import Path
    from failsoft.agent import Agent, FileRuns
    from failsoft.harness.harness import Harness
    from failsoft.testing.clients import ScriptedClient
    from failsoft.tools import tool

    folder, die_at = Path(sys.argv[1]), int(sys.argv[2])
    effects = folder / "effects.txt"

    @tool(idempotent=False)
    async def charge(cents: int) -> str:
        "Charge."
        with effects.open("a") as file:
            file.write(f"{cents}\\n")
        return f"charged {cents}"

    class Dying(ScriptedClient):
        async def complete(self, request):
            if die_at and len(request.messages) >= die_at:
                os._exit(9)
            return await super().complete(request)

    def turn(messages):
        done = sum(1 for m in messages if m["role"] == "assistant")
        return [("charge", {"cents": done + 1})] if done < 4 else "all charged"

    async def main():
        harness = Harness([charge], store=f"sqlite:///{folder}/ledger.db")
        agent = Agent(Dying([], then=turn), harness, runs=FileRuns(folder / "runs"))
        known = await agent.runs.load_run("r1")
        outcome = await (agent.resume("r1") if known else agent.run("charge", run="r1"))
        await harness.aclose()
        print(outcome.text, len(outcome.calls), len(outcome.messages))

    asyncio.run(main())
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_same_transcript_and_no_second_effect(tmp_path):
    """Killed at each turn in a row, a run ends as if nothing had happened."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def start(die_at):
        return subprocess.run(
            [sys.executable, str(script), str(tmp_path), str(die_at)],
            capture_output=True,
            text=True,
            check=False,
        )

    assert start(3).returncode == 9
    assert start(5).returncode == 9
    last = start(0)
    assert last.stdout.split() == ["all", "charged", "4", "10"], last.stderr
    assert (tmp_path / "effects.txt").read_text().split() == ["1", "2", "3", "4"]
