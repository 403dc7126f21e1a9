"""What a real, small model wrote as calls: read, refused and answered as the rules say, and never guessed at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failsoft.core.calls import ToolCall
from failsoft.harness.harness import Harness
from failsoft.tools import tool

FILE = Path(__file__).parent / "malformed" / "smollm2.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
NAMES = ("get_weather", "create_event", "send")


def harness(ran: list) -> Harness:
    """The tools that the model was told of."""

    @tool(read_only=True)
    async def get_weather(city: str, unit: str = "celsius") -> str:
        """Weather of a city."""
        ran.append({"city": city, "unit": unit})
        return "12 degrees"

    @tool(idempotent=False)
    async def create_event(title: str, date: str, minutes: int) -> str:
        """Make an entry in the calendar."""
        ran.append({"title": title, "date": date, "minutes": minutes})
        return "made"

    @tool(idempotent=False)
    async def send(to: str, text: str) -> str:
        """Send a text."""
        ran.append({"to": to, "text": text})
        return "sent"

    return Harness([get_weather, create_event, send], store="memory")


def test_the_corpus_is_there():
    """It has calls of each kind: cut off, of no tool, and of a tool with arguments that do not fit."""
    assert len(ROWS) >= 90
    assert {row["cut"] for row in ROWS} == {True, False}
    assert {row["name"] in NAMES for row in ROWS} == {True, False}


@pytest.mark.parametrize("number", range(len(ROWS)))
async def test_each_is_refused_or_meant(number):
    """Under its own name and under each tool's: refused with a reason that fits the model's context, or exactly as written."""
    row, ran = ROWS[number], []
    async with harness(ran) as tools, tools.run() as run:
        calls = [
            ToolCall(f"c{n}", name, row["arguments"], truncated=row["cut"])
            for n, name in enumerate((row["name"], *NAMES))
        ]
        results = await run.call_all(calls)
    assert [result.call.id for result in results] == ["c0", "c1", "c2", "c3"]
    for result in results:
        if result.ok:
            assert not row["cut"]
            written = json.loads(row["arguments"], strict=False)
            assert any(written.items() <= values.items() for values in ran)
            continue
        error = result.error
        assert str(error.kind) in ("invalid_argument", "unknown_tool")
        assert (result.attempts, str(error.effect)) == (0, "none")
        told = json.loads(result.content)
        assert len(result.content) <= 1000
        assert told["error"] == str(error.kind)
    if row["cut"]:
        assert ran == []
