"""Several models in a row."""

from __future__ import annotations

import pytest

from failsoft.agent import Agent, FallbackClient
from failsoft.core.errors import ModelError, RateLimited, Unavailable, UsageError
from failsoft.core.turns import ModelRequest
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Retry
from failsoft.testing.clients import ScriptedClient
from failsoft.testing.clock import VirtualClock
from failsoft.tools import tool

DOWN = Unavailable("overloaded")


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def request(run_id="r"):
    """A plain one."""
    return ModelRequest(dialect="anthropic", messages=[{"role": "user", "content": "x"}], run_id=run_id)


async def test_the_next_client_answers_and_the_run_stays_with_it():
    """A run that moved on does not go back by itself; another run begins with the first client."""
    first, second = ScriptedClient([DOWN], then="first"), ScriptedClient([], then="second")
    client = FallbackClient([first, second])
    assert [(await client.complete(request())).text for _ in range(3)] == ["second"] * 3
    assert (await client.complete(request("other"))).text == "first"


async def test_a_client_that_keeps_failing_is_not_asked_for_a_while():
    """Its breaker opens; after its time one probe goes through."""
    clock = VirtualClock()
    first, second = ScriptedClient([DOWN] * 3, then="first"), ScriptedClient([], then="second")
    client = FallbackClient([first, second], breaker=Breaker(hard_failures=3, open_s=30), clock=clock)
    for n in range(6):
        await client.complete(request(f"r{n}"))
    assert len(first.requests) == 3
    clock.advance(31)
    assert (await client.complete(request("late"))).text == "first"


async def test_when_all_fail_the_failure_that_may_pass_is_told():
    """A retryable failure is preferred, so that the loop's own retry comes back; its hint stays."""
    clients = [
        ScriptedClient([], then=RateLimited("slow", retry_after_s=3)),
        ScriptedClient([], then=ModelError("no")),
    ]
    client = FallbackClient(clients)
    with pytest.raises(RateLimited) as caught:
        await client.complete(request())
    assert caught.value.retry_after_s == 3


async def test_a_conversation_moves_between_dialects():
    """The other provider reads the same calls and results in its own shapes."""
    call = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "t:1", "name": "add", "input": {"a": 1, "b": 2}},
        ],
    }
    first = ScriptedClient([call, DOWN])
    second = ScriptedClient([], then="3", dialect="openai")
    async with Harness([add], store="memory") as harness:
        outcome = await Agent(FallbackClient([first, second]), harness).run("go")
    assert outcome.text == "3"
    asked = second.requests[0]
    assert asked.tools[0]["type"] == "function"
    assert asked.messages[1]["tool_calls"][0]["id"] == asked.messages[2]["tool_call_id"] == "t_1"
    assert asked.messages[2]["content"] == "3"
    assert outcome.messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "3"}]}


async def test_when_none_may_be_asked_the_run_says_so():
    """With every breaker open the error tells when to come back."""
    clock = VirtualClock()
    client = FallbackClient(
        [ScriptedClient([], then=DOWN)], breaker=Breaker(hard_failures=1, open_s=30), clock=clock
    )
    async with Harness([add], store="memory") as harness:
        outcome = await Agent(client, harness, retry=Retry(max_attempts=1)).run("go")
        again = await Agent(client, harness, retry=Retry(max_attempts=1)).run("go")
    assert outcome.errors[0].kind == "unavailable"
    assert again.errors[0].kind == "circuit_open"
    assert 0 < again.errors[0].retry_after_s <= 30


def test_a_row_of_no_clients_is_refused():
    """There must be somebody to ask."""
    with pytest.raises(UsageError, match="needs clients"):
        FallbackClient([])
