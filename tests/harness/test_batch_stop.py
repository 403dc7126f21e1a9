"""Batches that stop on a result: one result for each call all the same."""

from __future__ import annotations

import asyncio

import pytest

from failsoft import Harness, Policy, ToolCall, to_messages, tool
from failsoft.errors import NotFound, PermissionDenied

PLAIN = Policy(retry=None, breaker=None)


def made(ran: list[str]):
    """A parallel tool and a sequential one that fail where they are asked to."""

    async def work(name: str, fail: str) -> str:
        ran.append(name)
        await asyncio.sleep(0.02 if fail else 0.05)
        if fail == "denied":
            raise PermissionDenied("not allowed")
        if fail:
            raise NotFound("not there")
        return name

    @tool(read_only=True)
    async def side(name: str, fail: str = "") -> str:
        """Work beside others."""
        return await work(name, fail)

    @tool(read_only=True, parallel=False)
    async def alone(name: str, fail: str = "") -> str:
        """Work alone."""
        return await work(name, fail)

    return Harness([side, alone], policy=PLAIN, store="memory")


def calls(*specs: tuple[str, str]) -> list[ToolCall]:
    return [ToolCall(f"c{n}", name, {"name": f"n{n}", "fail": fail}) for n, (name, fail) in enumerate(specs)]


def seen(results) -> list[str]:
    return ["ok" if result.ok else result.error.reason for result in results]


async def test_sequential_calls_after_the_failure_are_not_started():
    """What comes after is answered, in order, as not started; nothing of it ran."""
    ran: list[str] = []
    asked = calls(("alone", ""), ("alone", "denied"), ("alone", ""), ("side", ""))
    async with made(ran) as harness:
        results = await harness.call_all(asked, stop_on=["permission_denied"])
    assert seen(results) == ["ok", "permission_denied", "not_started", "not_started"]
    assert [result.call.id for result in results] == ["c0", "c1", "c2", "c3"]
    assert ran == ["n0", "n1"]
    assert (results[2].error.kind, results[2].error.effect) == ("cancelled", "none")
    assert "alone (c1)" in results[2].error.message


async def test_siblings_that_run_are_unharmed():
    """A parallel group begins as a whole and ends as a whole."""
    ran: list[str] = []
    asked = calls(("side", "denied"), ("side", ""), ("alone", ""))
    async with made(ran) as harness:
        results = await harness.call_all(asked, stop_on="permission_denied")
    assert seen(results) == ["permission_denied", "ok", "not_started"]


async def test_with_a_limit_those_without_a_place_are_not_started():
    """Under `max_parallel`, those that wait for a place do not begin any more."""
    ran: list[str] = []
    asked = calls(("side", "denied"), ("side", ""), ("side", ""), ("side", ""))
    async with made(ran) as harness:
        results = await harness.call_all(asked, max_parallel=2, stop_on={"permission_denied"})
    assert seen(results) == ["permission_denied", "ok", "not_started", "not_started"]


async def test_other_kinds_and_predicates():
    """Only what is named stops; a predicate decides by the whole result, and one that raises stops."""
    ran: list[str] = []
    asked = calls(("alone", "missing"), ("alone", ""), ("alone", ""))
    async with made(ran) as harness:
        assert seen(await harness.call_all(asked, stop_on=["permission_denied"])) == ["not_found", "ok", "ok"]
        assert seen(await harness.call_all(asked, stop_on=lambda result: result.ok)) == [
            "not_found",
            "ok",
            "not_started",
        ]
        assert seen(await harness.call_all(asked, stop_on=lambda result: 1 / 0)) == [
            "not_found",
            "not_started",
            "not_started",
        ]
        async with harness.run() as run:
            assert seen(await run.call_all(asked, stop_on=["not_found"]))[1:] == ["not_started"] * 2


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
async def test_the_history_stays_valid(dialect):
    """Every call of the message has its answer, also those that were not started."""
    ran: list[str] = []
    asked = calls(("alone", "denied"), ("alone", ""))
    async with made(ran) as harness:
        results = await harness.call_all(asked, stop_on=["permission_denied"])
    text = str(to_messages(dialect, results))
    assert text.count("c0'") == 1
    assert text.count("c1'") == 1
    assert "not_started" in text
