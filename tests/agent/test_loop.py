"""The loop's ends and odd turns: each one defined behaviour, with scripted models."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import BaseModel

from failsoft.agent import Agent, CallableClient, Limits, interrupted_outcome
from failsoft.agent.validity import problems
from failsoft.core.errors import ModelError, RateLimited, Unavailable, UsageError
from failsoft.core.turns import ModelTurn
from failsoft.harness.harness import Harness
from failsoft.policies import Retry
from failsoft.testing.clients import ScriptedClient, ask, say
from failsoft.testing.clock import VirtualClock, run_virtual
from failsoft.tools import tool

ran: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add."""
    ran.append((a, b))
    return a + b


@tool(idempotent=False)
async def charge(cents: int) -> str:
    """Charge a card."""
    ran.append(cents)
    return "charged"


@tool(read_only=True)
async def hang() -> str:
    """Never come back."""
    try:
        await asyncio.sleep(30)
    finally:
        ran.append("cleaned up")
    return ""


async def run(turns, prompt="go", *, tools=(add, charge, hang), then=None, **options):
    """Run a script."""
    client = ScriptedClient(turns, then=then)
    async with Harness(list(tools), store="memory") as harness:
        outcome = await Agent(client, harness, **options).run(prompt)
    return outcome, client


async def test_an_outcome_says_what_was_done_and_what_failed():
    """The summary names what was done, each failure once, and the reason to stop."""
    bad = ("add", {"a": 1, "b": "x"})
    outcome, _ = await run([[("charge", {"cents": 5}), bad], [bad], "Charged."])
    assert (outcome.text, outcome.stop_reason, outcome.turns) == ("Charged.", "finished", 3)
    summary = outcome.summary()
    assert summary.startswith("The task is finished.")
    assert "Done (1): charge." in summary
    assert summary.count("Failed:") == 1
    assert len(outcome.calls) == 3


async def test_the_messages_of_an_outcome_can_be_sent_on():
    """A conversation goes on with the messages of an earlier outcome."""
    first, _ = await run([[("add", {"a": 1, "b": 2})], "3"])
    again, client = await run(["4"], [*first.messages, {"role": "user", "content": "and one more?"}])
    assert again.text == "4"
    assert len(client.requests[0].messages) == 5


async def test_a_conversation_that_a_provider_would_refuse_is_refused_here():
    """Half a conversation is the developer's mistake and is named before anything is sent."""
    half = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {}}]},
    ]
    with pytest.raises(UsageError, match="nothing answers"):
        await run(["never"], half)


@pytest.mark.parametrize("prompt", ["", "  ", []])
async def test_an_empty_prompt_is_refused(prompt):
    """There is nothing to do."""
    with pytest.raises(UsageError, match="empty"):
        await run(["x"], prompt)


async def test_a_paused_turn_is_sent_back_and_goes_on():
    """A pause turn needs no user message: the same conversation is sent with the turn included."""
    paused = ModelTurn(
        messages=({"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}]},), end="paused"
    )
    outcome, client = await run([paused, "done"])
    assert outcome.text == "done"
    assert client.requests[1].messages[-1]["role"] == "assistant"


async def test_a_full_context_ends_the_run():
    """A conversation that no longer fits is a model error with a reason of its own."""
    outcome, _ = await run([say("", end="context_full")])
    assert outcome.stop_reason == "model_error"
    assert outcome.errors[0].reason == "context_overflow"


async def test_an_answer_that_stays_cut_off_ends_as_truncated():
    """After two continuations the run ends with what there is."""
    outcome, client = await run([], then=say("bla ", end="truncated"))
    assert (outcome.stop_reason, outcome.text, len(client.requests)) == ("truncated", "bla bla bla ", 3)


def test_model_failures_are_retried_by_the_policy_and_hints_are_obeyed():
    """A limited model is asked again, not before the time that it asked for."""

    async def main(clock):
        client = ScriptedClient(
            [RateLimited("slow down", retry_after_s=40.0), ModelError("?", retryable=True), "ok"]
        )
        harness = Harness([add], store="memory", clock=clock)
        began = clock.monotonic()
        outcome = await Agent(client, harness).run("go")
        await harness.aclose()
        return outcome, clock.monotonic() - began

    outcome, took_s = run_virtual(main)
    assert outcome.text == "ok"
    assert 40.0 <= took_s < 44.0


def test_a_hint_beyond_the_run_s_time_ends_it_now():
    """A wait that cannot end in time is not begun."""

    async def main(clock):
        client = ScriptedClient([RateLimited("later", retry_after_s=7200.0)])
        harness = Harness([add], store="memory", clock=clock)
        began = clock.monotonic()
        outcome = await Agent(client, harness, limits=Limits(wall_s=60)).run("go")
        await harness.aclose()
        return outcome, clock.monotonic() - began

    outcome, took_s = run_virtual(main)
    assert (outcome.stop_reason, took_s) == ("model_error", 0.0)
    assert outcome.errors[0].kind == "rate_limited"


async def test_what_a_client_raises_never_comes_out_of_the_run():
    """A bug in a client is a model error with a reason, not an exception."""
    outcome, _ = await run([KeyError("oops")], retry=Retry(max_attempts=1))
    assert outcome.stop_reason == "model_error"


async def test_a_cancel_leaves_a_conversation_that_can_be_sent_on():
    """The tool is cancelled, cleans up, and every call of the turn has a reply in the history."""
    client = ScriptedClient([[("add", {"a": 1, "b": 2}), ("hang", {})]])
    harness = Harness([add, hang], store="memory")
    agent = Agent(client, harness)
    task = asyncio.create_task(agent.run("go"))
    while not ran:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    await harness.aclose()
    outcome = interrupted_outcome(caught.value)
    assert ran == [(1, 2), "cleaned up"]
    assert outcome.stop_reason == "interrupted"
    assert [result.ok for result in outcome.calls] == [True, False]
    assert problems("anthropic", outcome.messages) == []


class Answer(BaseModel):
    """What is wanted."""

    city: str
    degrees: int


async def test_a_structured_answer_is_an_instance_of_its_model():
    """The final text is read as the model; the system prompt says what it must fit."""
    outcome, client = await run(
        ['```json\n{"city": "Bonn", "degrees": 7}\n```'], output=Answer, system="Be brief."
    )
    assert outcome.output == Answer(city="Bonn", degrees=7)
    assert client.requests[0].system.startswith("Be brief.")
    assert '"degrees"' in client.requests[0].system


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_its_problems():
    """The model reads what was wrong and where; after two repairs the run ends."""
    wrong = '{"city": "Bonn", "degrees": "warm"}'
    outcome, client = await run([wrong, "It is 7 degrees.", '{"city": "Bonn", "degrees": 7}'], output=Answer)
    assert outcome.output.degrees == 7
    complaint = client.requests[1].messages[-1]["content"]
    assert "degrees" in complaint
    assert "'warm'" in complaint
    outcome, client = await run([], then=wrong, output=Answer)
    assert (outcome.stop_reason, outcome.output, len(client.requests)) == ("invalid_output", None, 3)
    assert outcome.errors[0].effect == "none"


async def test_the_wrong_parts_can_be_left_out_of_the_complaint():
    """With `echo_output=False` the model's own text is not shown to it again."""
    _, client = await run(
        ['{"city": "Bonn", "degrees": "warm"}', '{"city": "B", "degrees": 1}'],
        output=Answer,
        echo_output=False,
    )
    assert "warm" not in client.requests[1].messages[-1]["content"]


async def test_repeated_errors_are_cut_to_one_line_once_they_grow_too_long():
    """The last of each failure stays in full, earlier ones are one line, and pairs stay intact."""
    turns = [[("add", {"a": n, "b": "x"})] for n in range(8)]
    outcome, client = await run([*turns, "done"], limits=Limits(error_chars_per_run=1500))
    replies = [
        block["content"]
        for message in client.requests[-1].messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert len(replies) == 8
    assert sum(map(len, replies)) < 2500
    assert json.loads(replies[-1])["error"] == "invalid_argument"
    assert outcome.stop_reason == "finished"


async def test_a_tool_that_is_down_is_told_once_and_so_is_its_return():
    """The model reads once that a tool is down, and once that it may be tried again."""
    down = [True]

    @tool(read_only=True, retry=None)
    async def shaky(n: int) -> str:
        """Sometimes there."""
        if down[0]:
            raise Unavailable("gone")
        return f"ok {n}"

    clock = VirtualClock()

    def later(messages):
        clock.advance(40)
        down[0] = False
        return [("shaky", {"n": 9})]

    turns = [[("shaky", {"n": n})] for n in range(8)]
    client = ScriptedClient([*turns, later, "done"])
    async with Harness([shaky], store="memory", clock=clock) as harness:
        outcome = await Agent(client, harness, limits=Limits(max_errors=50)).run("go")
    told = json.dumps(outcome.messages)
    assert told.count("shaky is down") == 1
    assert told.count("shaky works again") + told.count("shaky was down; it may be tried") == 1


async def test_the_text_of_different_errors_is_bounded_too():
    """Errors that are all different are cut from the oldest on; the last stays in full."""
    turns = [[("add", {"a": n, "b": "x", f"extra{n}": "y" * 50})] for n in range(8)]
    _, client = await run([*turns, "done"], limits=Limits(error_chars_per_run=1500))
    replies = [m["content"][0]["content"] for m in client.requests[-1].messages[2::2]]
    assert len(replies) == 8
    assert sum(map(len, replies)) < 2600
    assert json.loads(replies[-1])["error"] == "invalid_argument"


async def test_early_messages_stay_the_same_within_a_run():
    """What has been sent is sent again unchanged, so that prompt caches hold."""
    _, client = await run([[("add", {"a": n, "b": n})] for n in range(5)] + ["done"])
    for before, after in zip(client.requests, client.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.tools is before.tools


def test_run_sync_gives_the_same_outcome():
    """Synchronous code uses the same loop through the background door."""
    client = ScriptedClient([[("add", {"a": 1, "b": 2})], "3"])
    harness = Harness([add], store="memory")
    assert Agent(client, harness).run_sync("go").text == "3"


async def test_a_run_may_be_named_and_shared():
    """Calls in one run are remembered together: a protected call that was done is replayed."""
    async with Harness([charge], store="memory") as harness, harness.run("order-7") as shared:
        for _ in range(2):
            client = ScriptedClient([[("charge", {"cents": 5})], "done"])
            outcome = await Agent(client, harness).run("go", run=shared)
            assert outcome.run_id == "order-7"
    assert ran == [5]
    assert outcome.calls[0].replayed


async def test_roles_of_the_asker_reach_the_tools():
    """A tool for some roles is refused to others and runs for those."""

    @tool(read_only=True, roles=["clerk"])
    async def files() -> str:
        """Look at the files."""
        return "a, b"

    async with Harness([files], store="memory") as harness:
        for roles, ok in ([], False), (["clerk"], True):
            outcome = await Agent(ScriptedClient([[("files", {})], "done"]), harness).run("go", roles=roles)
            assert outcome.calls[0].ok is ok


async def test_a_function_can_be_the_model():
    """A function that takes the request and gives a provider's message is a client."""

    def model(request):
        if request.messages[-1]["role"] == "user":
            call = {
                "id": "c1",
                "type": "function",
                "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
            }
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        return f"It is {request.messages[-1]['content']}."

    async with Harness([add], store="memory") as harness:
        outcome = await Agent(CallableClient(model), harness).run("go")
    assert outcome.text == "It is 3."


async def test_an_endpoint_that_still_writes_function_call_is_understood():
    """The one call of the old form is run and answered like one of the present form."""
    old = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
    }
    async with Harness([add], store="memory") as harness:
        model = CallableClient(lambda request: "3" if len(request.messages) > 1 else {**old})
        outcome = await Agent(model, harness).run("go")
    assert outcome.text == "3"
    assert problems("openai", outcome.messages) == []


async def test_a_turn_that_cannot_be_sent_back_ends_the_run():
    """A client of one's own that gives calls without a message for them is told apart from the caller's mistakes."""
    broken = ModelTurn(
        messages=({"role": "assistant", "content": [{"type": "text", "text": "x"}]},),
        calls=ask(("add", {"a": 1, "b": 2})).calls,
    )
    outcome, _ = await run([broken])
    assert outcome.stop_reason == "model_error"
    assert outcome.errors[-1].reason == "malformed_turn"


async def test_a_stream_that_is_closed_early_cancels_its_run():
    """Whoever stops watching and closes ends the run; its tool is cancelled."""
    client = ScriptedClient([[("hang", {})]])
    async with Harness([hang], store="memory") as harness, Agent(client, harness).stream("go") as stream:
        async for event in stream:
            if event.name == "call_admitted":
                await asyncio.sleep(0.01)
                break
    assert ran == ["cleaned up"]


async def test_a_doubt_is_named_in_the_outcome():
    """A call that may have happened is listed, and the summary says that somebody has to find out."""

    @tool(idempotent=False, timeout_s=0.05)
    async def pay() -> str:
        """Pay."""
        await asyncio.sleep(5)
        return ""

    outcome, _ = await run([[("pay", {})], "I do not know whether it was paid."], tools=[pay])
    assert len(outcome.doubts) == 1
    assert "In doubt: pay may have happened" in outcome.summary()


async def test_a_doubt_that_the_model_resolved_is_not_listed():
    """`doubts` holds what is still open at the end."""

    @tool(idempotent=False, timeout_s=0.05)
    async def pay() -> str:
        """Pay."""
        await asyncio.sleep(5)
        return ""

    def resolve(messages):
        doubt = json.loads(messages[-1]["content"][0]["content"])["doubt"]
        return ask(
            ("resolve_doubt", {"doubt": doubt, "happened": False, "evidence": "no entry in the ledger"})
        )

    outcome, _ = await run([[("pay", {})], resolve, "Not paid."], tools=[pay])
    assert outcome.doubts == ()
