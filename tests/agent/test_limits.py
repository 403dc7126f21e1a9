"""Limits: hint, block, stop; every stop with its reason and each error once."""

from __future__ import annotations

import json

import pytest

from failsoft.agent.agent import Agent
from failsoft.agent.limits import Limits
from failsoft.core.calls import ToolCall
from failsoft.core.errors import NotFound, UsageError
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient, ask
from failsoft.tools import tool

ran: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    ran.clear()


@tool(read_only=True)
async def lookup(a: int = 0, b: int = 0) -> str:
    """Find a thing that is not there."""
    ran.append((a, b))
    raise NotFound("name is required")


@tool(read_only=True)
async def list_docs(limit: int = 3) -> str:
    """List nothing."""
    ran.append(limit)
    return ""


@tool(read_only=True, poll=True)
async def job_status(job: str) -> str:
    """Ask how a job stands."""
    ran.append(job)
    return "pending"


@tool(read_only=True)
async def counter() -> int:
    """A number that grows."""
    ran.append(1)
    return len(ran)


async def run(turns, *, then=None, limits=Limits(), **options):
    """Run a script."""
    client = ScriptedClient(turns, then=then)
    async with Harness([lookup, list_docs, job_status, counter], store="memory") as harness:
        outcome = await Agent(client, harness, limits=limits, **options).run("go")
    return outcome, client


async def test_the_same_failing_call_is_hinted_then_blocked_then_stops_the_run():
    """A call that only the model could change runs twice, is refused once, and then ends the run."""
    outcome, client = await run([], then=[("lookup", {"a": 1, "b": 2})])
    assert outcome.stop_reason == "same_call"
    assert (len(ran), len(client.requests)) == (2, 4)
    assert "failed 2 times" in json.dumps(client.requests[2].messages[-1])
    assert "not run" in json.dumps(client.requests[3].messages[-1])
    assert [error.reason for error in outcome.errors] == ["not_found", "same_call"]


async def test_the_order_of_keys_does_not_hide_a_repeat():
    """Calls are compared by canonical arguments, as text or as a mapping."""
    spellings = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, '{"b":2, "a":1}', ' {"a": 1,"b": 2}']
    outcome, _ = await run([[("lookup", one)] for one in spellings])
    assert (outcome.stop_reason, len(ran)) == ("same_call", 2)


async def test_other_arguments_are_another_call():
    """A model that changes its arguments is not stopped for repeating itself."""
    outcome, _ = await run([[("lookup", {"a": n})] for n in range(8)] + ["gave up"])
    assert (outcome.stop_reason, len(ran)) == ("finished", 8)


async def test_news_in_between_let_a_call_run_again():
    """After a success that brought something new, an earlier failing call may be tried anew."""
    failing, news = [("lookup", {"a": 1})], [("counter", {})]
    outcome, _ = await run([failing, failing, news, failing, "done"])
    assert (outcome.stop_reason, len(ran)) == ("finished", 4)


async def test_an_alternating_pair_is_a_loop():
    """Two failing calls in turn, or a failing one and one without news, are found like a single repeat."""
    first, second = [("lookup", {"a": 1})], [("list_docs", {})]
    outcome, _ = await run([first, second] * 10)
    assert outcome.stop_reason in ("same_call", "stalled")
    assert len(ran) <= 10


async def test_made_up_tool_names_end_the_run_with_the_list_of_tools():
    """A name that does not exist is answered twice, then the run ends and says which tools there are."""
    outcome, client = await run([], then=[("search_web2", {"q": "x"})])
    assert (outcome.stop_reason, len(client.requests)) == ("unknown_tool", 3)
    assert "lookup, list_docs" in outcome.detail
    assert "lookup, list_docs" in json.dumps(client.requests[2].messages[-1])
    assert outcome.messages[-1]["content"][0]["type"] == "tool_result"


async def test_the_same_empty_success_is_a_stall():
    """A result that never changes is hinted at, then the call is not run any more."""
    outcome, _ = await run([], then=[("list_docs", {"limit": 3})])
    assert (outcome.stop_reason, len(ran)) == ("stalled", 6)


@pytest.mark.parametrize("call", [("job_status", {"job": "1"}), ("counter", {})], ids=["poll", "changing"])
async def test_honest_polling_is_no_loop(call):
    """A tool marked as a poll, and a result that changes, may be asked again and again."""
    outcome, _ = await run([[call]] * 20 + ["done"])
    assert (outcome.stop_reason, len(ran)) == ("finished", 20)


async def test_too_many_errors_end_the_run():
    """At `max_errors` the model is told to answer; asking for more ends the run, and nothing more runs."""
    outcome, client = await run(lambda_turns(), limits=Limits(max_errors=3))
    assert (outcome.stop_reason, len(ran), len(client.requests)) == ("max_errors", 3, 4)
    assert "no more will be run" in json.dumps(client.requests[3].messages[-1])
    assert len(outcome.errors) == 2  # the three failures are one and the same, and the refusal


def lambda_turns():
    """Ten failing calls with different arguments."""
    return [[("lookup", {"a": n})] for n in range(10)]


async def test_too_many_calls_are_not_run():
    """Calls beyond `max_calls` are answered without running, and the run ends at the next."""
    calls = [("counter", {})] * 3
    outcome, client = await run([], then=calls, limits=Limits(max_calls=4))
    assert (outcome.stop_reason, len(ran), len(client.requests)) == ("max_calls", 4, 3)
    assert len(outcome.calls) == 9


async def test_the_last_turn_may_only_answer():
    """In the last turn tools are withheld; a model that calls all the same gets refusals, and the run ends."""
    outcome, client = await run([], then=[("counter", {})], limits=Limits(max_turns=3))
    assert (outcome.stop_reason, outcome.turns, len(ran)) == ("max_turns", 3, 2)
    assert [request.withhold_tools for request in client.requests] == [False, False, True]
    assert client.requests[0].tools is client.requests[2].tools
    assert outcome.calls[-1].error.reason == "max_turns"


async def test_tokens_are_a_budget():
    """A run that has used its tokens asks no more."""
    outcome, client = await run([], then=[("counter", {})], limits=Limits(tokens=5))
    assert (outcome.stop_reason, len(client.requests)) == ("budget", 3)


async def test_a_call_of_a_batch_that_loops_does_not_take_its_siblings_along():
    """A blocked call is refused by itself; the others of its turn run."""
    bad, good = ("lookup", {"a": 1}), ("counter", {})
    outcome, _ = await run([[bad], [bad], [bad, good], "done"])
    assert outcome.stop_reason == "finished"
    assert [result.ok for result in outcome.calls] == [False, False, False, True]


async def test_duplicate_and_missing_ids_get_one_result_each():
    """Every call has a result of its own id, whatever ids the model sent."""
    calls = [ToolCall("x", "counter", {}), ToolCall("x", "counter", {}), ToolCall("", "counter", {})]
    outcome, client = await run([ask(*calls), "done"])
    asked = [block["id"] for block in client.requests[1].messages[1]["content"]]
    given = [block["tool_use_id"] for block in client.requests[1].messages[2]["content"]]
    assert asked == given
    assert len(set(given)) == 3
    assert outcome.stop_reason == "finished"


@pytest.mark.parametrize(
    "bad", [{"max_turns": 0}, {"max_calls": -1}, {"wall_s": 0}, {"tokens": 0}, {"max_errors": True}]
)
def test_limits_that_cannot_work_are_refused(bad):
    """A limit that would never or always hold is a mistake of the developer's."""
    with pytest.raises(UsageError, match="Limits"):
        Limits(**bad)
