"""Seeded conversations with a model and an endpoint that do everything wrong: each ends with a reason, none is refused."""

from __future__ import annotations

import json
import os
import random

import pytest

from failsoft.agent import Agent, Limits, StopReason
from failsoft.core.errors import NotFound, Unavailable
from failsoft.harness.harness import Harness
from failsoft.policies import Policy, Retry
from failsoft.tools import tool
from tests.agent.providers import APIS, provider
from tests.agent.servers.base import Fault, Line

pytestmark = [pytest.mark.slow]
FAST = Retry(max_attempts=6, base_s=0.001, cap_s=0.002)
# 300 for each API: FAILSOFT_CONVERSATIONS=300
COUNT = int(os.environ.get("FAILSOFT_CONVERSATIONS", "30"))
BLOCK = 15


@tool(read_only=True)
async def look(name: str, limit: int = 3) -> list[str]:
    """Look something up."""
    if name == "missing":
        raise NotFound("there is no such thing")
    if name == "down":
        raise Unavailable("the service is down")
    return [name] * limit


@tool(idempotent=False)
async def send(to: str, text: str) -> str:
    """Send a message."""
    if to == "broken":
        raise KeyError("what happened?")
    return f"sent to {to}"


class Chaos:
    """A model that makes every kind of mistake, by a seed."""

    def __init__(self, api: str, seed: int) -> None:
        self.api = api
        self.rng = random.Random(seed)

    def __call__(self, body):
        rng = self.rng
        roll = rng.random()
        if roll < 0.12:
            return Line(text=rng.choice(["All done.", "I could not do it.", "成功"]))
        if roll < 0.16:
            return Line(end=rng.choice(["end", "length"]))
        if roll < 0.19:
            return Line(text="This is long", end="length")
        if roll < 0.21:
            return Line(text="I will not do that.", end="refusal")
        calls = tuple(self.call() for _ in range(rng.choice([1, 1, 2, 4])))
        return Line(
            text=rng.choice(["", "Let me see."]), calls=calls, end="length" if rng.random() < 0.1 else ""
        )

    def call(self):
        """One call, often wrong."""
        rng = self.rng
        name = rng.choice(
            ["look", "look", "look", "send", "send", "Look", "functions.look", "nope", "", "x" * 300]
        )
        arguments = rng.choice(
            [
                {"name": rng.choice(["a", "b", "missing", "down"])},
                {"name": 7},
                {"nam": "a"},
                {},
                {"to": rng.choice(["ann", "broken"]), "text": "hi"},
                {"name": "\ud83d\ude00 \u0000", "limit": "2"},
            ]
        )
        if self.api != "messages" and rng.random() < 0.3:
            arguments = rng.choice(
                ['{"name": "a"', "", "null", "[1]", "name=a", '{"name": "a"} {"name": "b"}', "{'name': 'a'}"]
            )
        ids = [] if rng.random() < 0.7 else [rng.choice(["dup", "", "id:with.odd/characters"])]
        if self.api == "messages":
            ids = [one.replace(":", "_").replace(".", "_").replace("/", "_") for one in ids]
        return (name, arguments, *ids)


def faults(rng):
    """What goes wrong with the requests, without end."""
    kinds = [
        Fault(kind="status", status=429, headers={"retry-after": "0"}),
        Fault(kind="status", status=429, headers={"retry-after-ms": "2"}),
        Fault(kind="status", status=529),
        Fault(kind="status", status=500),
        Fault(kind="status", status=503, headers={"x-should-retry": "true"}),
        Fault(kind="cut"),
        Fault(kind="garbage"),
        Fault(kind="stream_error"),
        Fault(kind="bad_event"),
    ]
    while True:
        yield rng.choice(kinds) if rng.random() < 0.25 else None


@pytest.mark.parametrize("block", range(0, COUNT, BLOCK))
@pytest.mark.parametrize("api", APIS)
async def test_every_conversation_ends_with_a_reason(api, block):
    """Whatever model and endpoint do, a run ends finished or stopped with a reason, and no request is malformed."""
    reasons = set()
    for seed in range(block, min(block + BLOCK, COUNT)):
        rng = random.Random(seed * 7 + 1)
        chaos = Chaos(api, seed)
        async with (
            provider(api, chaos, faults=faults(rng)) as (_, client),
            Harness([look, send], store="memory", policy=Policy(retry=FAST)) as harness,
        ):
            agent = Agent(client, harness, retry=FAST, limits=Limits(max_turns=12))
            outcome = await (agent.stream("go").wait() if seed % 2 else agent.run("go"))
        assert outcome.stop_reason in StopReason
        assert outcome.summary()
        assert outcome.finished or outcome.errors, outcome
        json.dumps(outcome.messages, default=str)
        reasons.add(str(outcome.stop_reason))
    assert len(reasons) > 1
