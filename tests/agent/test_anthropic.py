"""The Messages API over real HTTP, by the official SDK."""

from __future__ import annotations

import json

import pytest

from failsoft.agent.agent import Agent
from failsoft.agent.clients.anthropic import AnthropicClient
from failsoft.agent.limits import Limits
from failsoft.harness.harness import Harness
from failsoft.policies import Retry
from failsoft.tools import tool
from tests.agent.servers.base import Fault, Line
from tests.agent.servers.messages_api import MessagesServer

pytestmark = [pytest.mark.slow]
FAST = Retry(max_attempts=4, base_s=0.01, cap_s=0.02)


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def ask(server, prompt="Add.", *, limits=Limits(), timeout_s=5.0, **options):
    """Run one task against a server."""
    client = AnthropicClient("stand-in", api_key="k", base_url=server.origin, timeout_s=timeout_s)
    async with Harness([add], store="memory") as harness:
        agent = Agent(client, harness, limits=limits, retry=FAST, **options)
        outcome = await agent.run(prompt)
    await client.aclose()
    assert server.refused == []
    return outcome


async def test_a_task_with_parallel_calls_is_finished():
    """Calls of one turn are answered together, in order, and the assistant's message goes back whole."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig-2"}
    unknown = {"type": "brand_new_block", "payload": {"x": [1, None]}}
    script = [
        Line(
            text="Let me see.",
            extra=(thinking, unknown),
            calls=(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})),
        ),
        Line(text="3 and 7."),
    ]
    async with MessagesServer(script) as server:
        outcome = await ask(server)
    assert (outcome.text, outcome.stop_reason) == ("3 and 7.", "finished")
    sent = server.bodies[1]["messages"]
    assert sent[1]["content"][:2] == [thinking, unknown]
    assert [block["content"] for block in sent[2]["content"]] == ["3", "7"]
    assert outcome.usage.requests == 2
    assert outcome.usage.output_tokens == 10


async def test_two_calls_with_one_id_get_two_results():
    """Ids that a provider repeats are made distinct in the message and in the results."""
    script = [Line(calls=(("add", {"a": 1, "b": 1}, "t1"), ("add", {"a": 2, "b": 2}, "t1"))), Line(text="ok")]
    async with MessagesServer(script) as server:
        outcome = await ask(server)
    assert outcome.stop_reason == "finished"
    assert [result.value for result in outcome.calls] == [2, 4]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=429, headers={"retry-after": "0"}),
        Fault(kind="status", status=429, headers={"retry-after-ms": "5"}),
        Fault(kind="status", status=529),
        Fault(kind="status", status=500),
        Fault(kind="cut"),
        Fault(kind="garbage"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}-{'-'.join(fault.headers)}",
)
async def test_a_passing_fault_of_the_model_is_retried(fault):
    """Overload, a broken connection and an unreadable answer are asked again; the SDK itself does not retry."""
    async with MessagesServer([Line(text="ok")], faults=[fault]) as server:
        outcome = await ask(server)
    assert (outcome.stop_reason, outcome.text, server.requests) == ("finished", "ok", 2)


async def test_a_hanging_model_ends_by_the_api_time_out():
    """A request without an answer is given up after `timeout_s` and asked again."""
    async with MessagesServer([Line(text="ok")], faults=[Fault(kind="hang")]) as server:
        outcome = await ask(server, timeout_s=0.2)
    assert (outcome.stop_reason, server.requests) == ("finished", 2)


async def test_a_bad_key_stops_at_once_with_the_reason():
    """What no retry can change is not retried."""
    fault = Fault(
        kind="status",
        status=401,
        body={"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}},
    )
    async with MessagesServer([Line(text="ok")], faults=[fault]) as server:
        outcome = await ask(server)
    assert (outcome.stop_reason, server.requests) == ("model_error", 1)
    assert [(error.kind, error.domain) for error in outcome.errors] == [("permission_denied", "policy")]


async def test_a_call_cut_off_by_the_output_limit_is_not_run():
    """A cut-off call is refused as such, and the model is told to make it smaller."""
    script = [Line(calls=(("add", {"a": 1}),), end="length"), Line(text="ok")]
    async with MessagesServer(script) as server:
        outcome = await ask(server)
    result = server.bodies[1]["messages"][2]["content"][0]
    assert result["is_error"]
    assert json.loads(result["content"])["reason"] == "truncated"
    assert outcome.calls[0].attempts == 0
    assert outcome.stop_reason == "finished"
