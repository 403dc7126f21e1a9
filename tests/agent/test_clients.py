"""The three APIs over real HTTP, by the official SDKs: shapes, faults, odd turns, streams."""

from __future__ import annotations

import json

import pytest

from failsoft.agent import Agent, Limits, OpenAIClient
from failsoft.harness.harness import Harness
from failsoft.policies import Retry
from failsoft.tools import tool
from tests.agent.providers import APIS, provider
from tests.agent.servers.base import Fault, Line

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("api", APIS)]
FAST = Retry(max_attempts=4, base_s=0.01, cap_s=0.02)


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def run(client, prompt="Add.", *, limits=Limits(), **options):
    """Run one task."""
    async with Harness([add], store="memory") as harness:
        return await Agent(client, harness, limits=limits, retry=FAST, **options).run(prompt)


def replies(body):
    """What the last turn's calls were answered with, whatever the API."""
    if "input" in body:
        return [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    tools = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    blocks = [
        m["content"] for m in body["messages"] if m["role"] == "user" and isinstance(m["content"], list)
    ]
    return tools or [b["content"] for content in blocks for b in content if b["type"] == "tool_result"]


async def test_parallel_calls_are_answered_together_and_in_order(api):
    """A turn of text and two calls gets two results, in order, and the run finishes."""
    script = [
        Line(text="Let me see.", calls=(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}))),
        Line(text="3, 7"),
    ]
    async with provider(api, script) as (server, client):
        outcome = await run(client, system="Be brief.")
    assert (outcome.text, outcome.stop_reason) == ("3, 7", "finished")
    assert replies(server.bodies[1]) == ["3", "7"]
    assert (outcome.usage.requests, outcome.usage.input_tokens, outcome.usage.output_tokens) == (2, 20, 10)
    assert server.bodies[0]["tools"] == server.bodies[1]["tools"]


EXTRA = {
    "messages": (
        {"type": "thinking", "thinking": "hm", "signature": "sig-2"},
        {"type": "brand_new_block", "payload": {"x": [1, None]}},
    ),
    "chat": ({"reasoning_content": "hm"},),
    "responses": (
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        {"type": "brand_new_item", "payload": {"x": [1, 2]}},
    ),
}


async def test_thinking_and_unknown_parts_go_back_untouched(api):
    """Whatever the provider wrote besides text and calls is sent back as it came."""
    script = [Line(extra=EXTRA[api], calls=(("add", {"a": 1, "b": 2}),)), Line(text="3")]
    async with provider(api, script) as (server, client):
        await run(client)
    body = server.bodies[1]
    if api == "responses":
        assert body["input"][1:3] == list(EXTRA[api])
    elif api == "messages":
        assert body["messages"][1]["content"][:2] == list(EXTRA[api])
    else:
        assert body["messages"][1]["reasoning_content"] == "hm"


async def test_two_calls_with_one_id_get_two_results(api):
    """Ids that a model repeats are made distinct in the message and in the results."""
    script = [Line(calls=(("add", {"a": 1, "b": 1}, "t1"), ("add", {"a": 2, "b": 2}, "t1"))), Line(text="ok")]
    async with provider(api, script) as (server, client):
        outcome = await run(client)
    assert outcome.stop_reason == "finished"
    assert replies(server.bodies[1]) == ["2", "4"]


async def test_a_missing_id_is_made_up(api):
    """A call without an id is run and answered under a fresh one."""
    async with provider(api, [Line(calls=(("add", {"a": 1, "b": 1}, ""),)), Line(text="ok")]) as (
        server,
        client,
    ):
        outcome = await run(client)
    assert outcome.stop_reason == "finished"
    assert replies(server.bodies[1]) == ["2"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", status=429, headers={"retry-after": "0"}),
        Fault(kind="status", status=429, headers={"retry-after-ms": "5"}),
        Fault(kind="status", status=529),
        Fault(kind="status", status=500),
        Fault(kind="cut"),
        Fault(kind="garbage"),
        Fault(kind="stream_error"),
        Fault(kind="bad_event"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}-{'-'.join(fault.headers)}",
)
async def test_a_passing_fault_of_the_model_is_retried(api, fault, stream):
    """Overload, a broken connection and an unreadable answer are asked again; the SDK itself does not retry."""
    if fault.kind in ("stream_error", "bad_event") and not stream:
        pytest.skip("only a stream can break that way")
    async with (
        provider(api, [Line(text="all fine")], faults=[fault]) as (server, client),
        Harness([add], store="memory") as harness,
    ):
        agent = Agent(client, harness, retry=FAST)
        outcome = await (agent.stream("Go").wait() if stream else agent.run("Go"))
    assert (outcome.stop_reason, outcome.text, server.requests) == ("finished", "all fine", 2)


async def test_a_hanging_model_ends_by_the_api_time_out(api):
    """A request without an answer is given up after `timeout_s` and asked again."""
    async with provider(api, [Line(text="ok")], faults=[Fault(kind="hang")], timeout_s=0.2) as (
        server,
        client,
    ):
        outcome = await run(client)
    assert (outcome.stop_reason, server.requests) == ("finished", 2)


async def test_the_run_s_time_bounds_a_hanging_model(api):
    """With `wall_s`, a model that never answers ends the run as a used-up budget."""
    async with provider(api, [Line(text="ok")], faults=[Fault(kind="hang")] * 9) as (_, client):
        outcome = await run(client, limits=Limits(wall_s=0.3))
    assert outcome.stop_reason == "budget"


async def test_a_bad_key_stops_at_once_with_the_reason(api):
    """What no retry can change is not retried."""
    async with provider(api, [Line(text="ok")], faults=[Fault(kind="status", status=401)]) as (
        server,
        client,
    ):
        outcome = await run(client)
    assert (outcome.stop_reason, server.requests) == ("model_error", 1)
    assert [error.kind for error in outcome.errors] == ["permission_denied"]


async def test_a_call_cut_off_by_the_output_limit_is_not_run(api):
    """A cut-off call is refused as such, and the model is told to make it smaller."""
    arguments = {"a": 1} if api == "messages" else '{"a": 1, "b"'
    async with provider(api, [Line(calls=(("add", arguments),), end="length"), Line(text="ok")]) as (
        server,
        client,
    ):
        outcome = await run(client)
    assert json.loads(replies(server.bodies[1])[0])["reason"] == "truncated"
    assert (outcome.calls[0].attempts, outcome.stop_reason) == (0, "finished")


async def test_a_refusal_stops_the_run(api):
    """A refusal is a reason of its own, and its calls are not run."""
    line = Line(
        text="I will not.", calls=() if api == "responses" else (("add", {"a": 1, "b": 2}),), end="refusal"
    )
    async with provider(api, [line]) as (server, client):
        outcome = await run(client)
    assert (outcome.stop_reason, server.requests, outcome.calls) == ("refused", 1, ())


async def test_an_empty_turn_is_asked_again_and_then_ends_the_run(api):
    """A model that says nothing is asked for an answer, twice at most."""
    async with provider(api, [Line(), Line(text="ok")]) as (server, client):
        assert (await run(client)).text == "ok"
    async with provider(api, [Line()]) as (server, client):
        outcome = await run(client)
    assert (outcome.stop_reason, server.requests) == ("model_error", 3)
    assert [error.reason for error in outcome.errors] == ["empty_answer"]


async def test_a_cut_off_answer_is_continued(api):
    """Text that the output limit cut is gone on with, and the pieces are joined."""
    async with provider(api, [Line(text="one ", end="length"), Line(text="two")]) as (_, client):
        outcome = await run(client)
    assert (outcome.text, outcome.stop_reason) == ("one two", "finished")


async def test_a_stream_gives_the_text_as_it_comes(api):
    """Pieces of text arrive as events; calls that were streamed are run like others."""
    script = [Line(text="I add.", calls=(("add", {"a": 1, "b": 2}),)), Line(text="three")]
    async with provider(api, script) as (server, client), Harness([add], store="memory") as harness:
        stream = Agent(client, harness).stream("Add.")
        events = [event async for event in stream]
    texts = [event.data["text"] for event in events if event.name == "text"]
    assert "".join(texts) == "I add.three"
    assert len(texts) == 4
    assert replies(server.bodies[1]) == ["3"]
    assert stream.outcome.text == "three"
    assert events[-1].name == "run_finished"


async def test_tools_are_withheld_in_the_last_turn_without_changing_the_list(api):
    """The last turn may only answer: the tool list stays as it was, the choice is none."""
    async with provider(api, [Line(calls=(("add", {"a": 1, "b": 2}),))]) as (server, client):
        outcome = await run(client, limits=Limits(max_turns=2))
    assert outcome.stop_reason == "max_turns"
    assert "tool_choice" not in server.bodies[0]
    assert server.bodies[1]["tool_choice"] in ("none", {"type": "none"})


async def test_a_local_endpoint_needs_no_key(api, monkeypatch):
    """With `base_url` and nothing to show, a made-up key is sent; at the provider's own endpoint that is an error."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    async with provider(api, [Line(text="ok")], api_key=None) as (_, client):
        assert (await run(client)).text == "ok"
    if api != "messages":
        outcome = await run(OpenAIClient("m", api=api))
        assert (outcome.stop_reason, outcome.errors[0].reason) == ("model_error", "missing_key")
