"""Cancels, time-outs, retries, loops and results that ended badly elsewhere, retold with data of our own."""

import asyncio
import contextvars
import datetime
import decimal
import json
import time

import pytest

import failsoft.subprocess
from failsoft import (
    Agent,
    Breaker,
    Harness,
    Limits,
    Output,
    Policy,
    Retry,
    Timeout,
    ToolCall,
    interrupted_results,
    tool,
)
from failsoft.policies.retry import decide
from failsoft.testing.clients import ScriptedClient
from failsoft.testing.clock import run_virtual
from failsoft.tools import Tool

TENANT = contextvars.ContextVar("tenant")


async def test_a_cancelled_run_stops_its_tool_and_leaves_an_answer():
    """The cancel passes, the tool has cleaned up, the open call has a result (pydantic/pydantic-ai#3960)."""
    cleaned = []

    @tool(read_only=True)
    async def watch() -> str:
        """Watch."""
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)
        return ""

    async with Harness([watch], store="memory") as harness:
        task = asyncio.create_task(harness.call_all([ToolCall("w", "watch", {})]))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert cleaned
    assert [(r.call.id, r.error.kind) for r in interrupted_results(caught.value)] == [("w", "cancelled")]


async def test_a_cancel_that_leaks_out_of_a_library_ends_one_call_only():
    """Nobody asked for this cancel, so it is the tool's failure (HKUDS/nanobot#1728)."""

    @tool(read_only=True)
    async def leaky() -> str:
        """Leak."""
        raise asyncio.CancelledError("scope 7f")

    async with Harness([leaky], store="memory") as harness:
        result = await harness.call("leaky")
    assert not result.ok
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_is_no_chat_message(kind):
    """Who ends the program ends it (HKUDS/nanobot#4788)."""

    @tool(read_only=True)
    async def stop() -> str:
        """Stop."""
        raise kind

    with pytest.raises(kind):
        asyncio.run(Harness([stop], store="memory").call("stop"))


@pytest.mark.slow
async def test_a_sync_tool_blocks_nobody_and_knows_its_tenant():
    """A blocking body runs beside the loop, with the caller's context (modelcontextprotocol/python-sdk#1646)."""

    @tool(read_only=True)
    def slow() -> str:
        """Block."""
        time.sleep(0.3)
        return TENANT.get("nobody")

    TENANT.set("north")
    beats = 0
    async with Harness([slow], store="memory") as harness:
        call = asyncio.create_task(harness.call("slow"))
        while not call.done():
            await asyncio.sleep(0.02)
            beats += 1
        assert (await call).value == "north"
    assert beats >= 5


def test_the_pause_before_a_retry_lets_others_work():
    """The wait for a retry is no sleep of the thread (quora/asynq#151)."""
    seen = []

    async def main(clock):
        @tool(read_only=True)
        async def once() -> str:
            """Fail once."""
            seen.append(clock.monotonic())
            if len(seen) == 1:
                raise ConnectionRefusedError(111, "refused")
            return "ok"

        policy = Policy(retry=Retry(max_attempts=2, base_s=5.0, jitter="none"))
        async with Harness([once], policy=policy, clock=clock, store="memory") as harness:
            call, beats = asyncio.create_task(harness.call("once")), 0
            while not call.done():
                await asyncio.sleep(0.5)
                beats += 1
            return (await call).value, beats

    value, beats = run_virtual(main)
    assert value == "ok"
    assert seen[1] - seen[0] == pytest.approx(5.0)
    assert beats >= 9


@pytest.mark.process
@pytest.mark.slow
async def test_a_grandchild_does_not_hold_the_pipe():
    """The time-out ends everything that a command started (tomerfiliba/plumbum#840)."""

    @tool(read_only=True, retry=None, timeout_s=0.5)
    async def shell() -> str:
        """Run."""
        done = await failsoft.subprocess.run(["sh", "-c", "sleep 47 & sleep 47"])
        return done.stdout

    began = time.monotonic()
    async with Harness([shell], store="memory") as harness:
        result = await harness.call("shell")
    assert result.error.kind == "timeout"
    assert time.monotonic() - began < 3


def test_one_deadline_holds_over_all_layers_of_retries():
    """A client that repeats by itself below a tool cannot stretch the call (HKUDS/nanobot#2760)."""

    async def main(clock):
        @tool(read_only=True)
        async def search() -> str:
            """Three tries inside."""
            for _ in range(3):
                await asyncio.sleep(2.0)
            raise ConnectionRefusedError(111, "refused")

        policy = Policy(retry=Retry(max_attempts=9, base_s=0.1), timeout=Timeout(attempt_s=60, total_s=60))
        async with Harness([search], policy=policy, clock=clock, store="memory") as harness:
            began = clock.monotonic()
            result = await harness.call("search", deadline_s=7.0)
            return clock.monotonic() - began, result

    took_s, result = run_virtual(main)
    assert took_s <= 7.01
    assert not result.ok


async def test_what_must_not_be_repeated_is_sent_once():
    """A connection that breaks after sending leaves a doubt and no second message (ComposioHQ/composio#3654)."""
    sent = []

    @tool(idempotent=False, retry=Retry(max_attempts=5, base_s=0))
    async def text_message(to: str) -> str:
        """Send.

        Args:
            to: Number.
        """
        sent.append(to)
        raise ConnectionResetError(104, "Connection reset by peer")

    async with Harness([text_message], store="memory") as harness:
        result = await harness.call("text_message", {"to": "12"})
        again = await harness.call("text_message", {"to": "12"})
    assert sent == ["12"]
    assert result.error.effect == "possible"
    assert "may" in result.content
    assert again.error.kind == "in_doubt"


@pytest.mark.parametrize("attempt", [1, 64, 1024, 1025, 100_000])
def test_late_waits_neither_overflow_nor_fall_into_step(attempt):
    """The cap is never left, and no two waits at the cap are the same (hynek/stamina#104)."""
    import random

    from failsoft.core.errors import make_error

    retry = Retry(max_attempts=attempt + 1, base_s=0.5, cap_s=8.0)
    busy, rng = make_error("overloaded", "busy"), random.Random(1)
    waits = [
        decide(retry, attempt=attempt, error=busy, repeatable=True, remaining_s=9e9, rng=rng).delay_s
        for _ in range(50)
    ]
    assert all(0 <= wait <= 8.0 for wait in waits)
    assert len(set(waits)) > 40


async def test_bad_requests_do_not_pause_a_healthy_service():
    """What the callers do wrong says nothing about the service; its own failures do (sgl-project/sglang#25811)."""
    outcomes = iter([400, 413, 422, 404, 503, 503, 200])
    httpx = pytest.importorskip("httpx")
    ran = []

    @tool(read_only=True, retry=None, breaker=Breaker(window=2, min_calls=2, hard_failures=2))
    async def store_item() -> str:
        """Store."""
        status = next(outcomes)
        ran.append(status)
        request = httpx.Request("GET", "https://x.test")
        httpx.Response(status, request=request).raise_for_status()
        return "ok"

    async with Harness([store_item], store="memory") as harness:
        kinds = [str((await harness.call("store_item")).error.kind) for _ in range(7)]
    assert kinds[-1] == "circuit_open"
    assert ran == [400, 413, 422, 404, 503, 503]


@pytest.mark.parametrize(
    ("name", "result", "executed_max"),
    [("pick", ValueError("which one?"), 3), ("pikc", None, 0), ("pick", "", 6)],
)
async def test_a_model_that_goes_in_circles_is_stopped(name, result, executed_max):
    """Warnings alone do not end a loop: the call is not run any more, then the run ends (NousResearch/hermes-agent#67829)."""
    ran = []

    def pick(**_given):
        ran.append(1)
        if isinstance(result, Exception):
            raise result
        return result

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    harness = Harness(
        [Tool.from_schema("pick", schema, pick, description="Pick.", read_only=True)], store="memory"
    )
    turns = [[(name, {"a": 1, "b": 2} if number % 2 else {"b": 2, "a": 1})] for number in range(40)]
    client = ScriptedClient(turns, then="over")
    limits = Limits(same_call_failures=3, unknown_tool_calls=3, stall_repeats=3)
    outcome = await Agent(client, harness, limits=limits).run("Pick one.")
    assert str(outcome.stop_reason) in ("same_call", "unknown_tool", "stalled")
    assert len(ran) <= executed_max
    assert len(client.requests) < 12


async def given_back(value, **output):
    """The result of a tool that returns this."""
    made = Tool.from_schema("give", {"type": "object", "properties": {}}, lambda: value, read_only=True)
    async with Harness([made], policy=Policy(output=Output(**output)), store="memory") as harness:
        return await harness.call("give")


async def test_a_value_that_json_cannot_take_is_still_a_success():
    """Dates, decimals, sets and foreign bytes never turn what was done into a failure (microsoft/agent-framework#2219)."""
    value = {"day": datetime.date(2026, 5, 4), "sum": decimal.Decimal("7.10"), "ids": {3}, "raw": b"\xb9\xab"}
    result = await given_back(value)
    assert result.ok
    assert json.loads(result.content)["day"] == "2026-05-04"
    assert "7.10" in result.content


async def test_a_huge_text_is_cut_with_its_size_and_a_picture_is_not_cut():
    """What is shortened says how long it was; a picture is whole or replaced (coder/xum#3891)."""
    result = await given_back("abcdefgh " * 200_000, max_chars=5_000)
    assert len(result.content) < 5_500
    assert "1,800,000" in result.content or "1800000" in result.content
    picture = {"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0K" * 20_000}]}
    shown = (await given_back(picture, max_chars=5_000)).content
    kept = [block for block in shown if block["type"] == "image"] if isinstance(shown, list) else []
    text = shown if isinstance(shown, str) else "".join(block.get("text", "") for block in shown)
    assert "iVBORw0KiVBORw0K" not in text
    assert all("iVBORw0K" * 20_000 in str(block) for block in kept)


async def test_bad_arguments_are_not_echoed_at_length():
    """An error about huge arguments is short (UKGovernmentBEIS/inspect_ai#4683)."""
    made = Tool.from_schema("f", {"type": "object", "properties": {}}, lambda: 1, read_only=True)
    async with Harness([made], store="memory") as harness:
        result = await harness.call("f", '{"a": y ' * 50_000)
    assert result.error.kind == "invalid_argument"
    assert len(result.content) < 2_000
