"""One run of six turns that kills itself at a chosen point, and goes on when it is started again.

python crashing_run.py FOLDER [POINT ...]     `model-3` is before the third model request, `answered-3` after it,
                                              `call-3` before the third call's effect, `effect-3` after it
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from failsoft.agent import Agent
from failsoft.core.calls import NotDone, ToolCall
from failsoft.core.turns import ModelTurn
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ask, say
from failsoft.tools import tool

FOLDER, POINTS = Path(sys.argv[1]), sys.argv[2:]
TURNS = 6


def die(point: str) -> None:
    """SIGKILL, once at each chosen point."""
    mark = FOLDER / f"died-{point}"
    if point in POINTS and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def happened(n: int) -> object:
    """What the books say."""
    books = FOLDER / "effects"
    return n if books.exists() and str(n) in books.read_text().split() else NotDone


@tool(idempotent=False, verify=happened, verify_after_s=0)
async def charge(n: int) -> int:
    """Charge once."""
    die(f"call-{n}")
    with (FOLDER / "effects").open("a") as file:
        file.write(f"{n}\n")
        file.flush()
        os.fsync(file.fileno())
    die(f"effect-{n}")
    return n


@tool(read_only=True)
async def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


class Model:
    """Says the same to the same conversation: turn n charges n and looks; the seventh answer ends it."""

    dialect = "anthropic"

    async def complete(self, request) -> ModelTurn:
        """The next turn, known from the conversation alone."""
        turn = 1 + sum(message["role"] == "assistant" for message in request.messages)
        die(f"model-{turn}")
        made = (
            ask(ToolCall(f"c{turn}", "charge", {"n": turn}), ToolCall(f"l{turn}", "look", {"n": turn}))
            if turn <= TURNS
            else say("all charged")
        )
        die(f"answered-{turn}")
        return made


async def main() -> None:
    """Begin the run, or go on with it."""

    async with Harness([charge, look], store=f"sqlite:///{FOLDER}/failsoft.db") as harness:
        agent = Agent(Model(), harness)
        known = await agent.runs.load_run("r1")
        outcome = await (agent.resume("r1") if known else agent.run("Charge six times.", run="r1"))
        doubts = await harness.doubts()
    print(
        json.dumps(
            {"messages": outcome.messages, "reason": outcome.stop_reason, "doubts": len(doubts)}, default=str
        )
    )


asyncio.run(main())
