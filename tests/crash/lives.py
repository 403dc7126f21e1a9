"""What a victim does until it dies, and what its heir finds: each runs in a child process of its own.

`effects` is the independent record: one line for each effect, written by the tool's body and by nothing else.
"""

import asyncio
import contextlib
import logging
import os
import time
from pathlib import Path
from typing import Any

from failsoft import AgentError, Harness, tool
from failsoft.core.calls import NotDone
from failsoft.stores import open_store, postgres, sqlite
from tests.crash.points import arm, die_at


class World:
    """The independent record of effects, set by whoever forks; one process, one call at a time reads `attempts`."""

    effects = Path("effects")
    attempts = 0


def act(order: str, key: str = "-") -> None:
    """Have an effect."""
    die_at("body:before")
    log = os.open(World.effects, os.O_WRONLY | os.O_APPEND)
    os.write(log, f"{order} {key}\n".encode())
    os.close(log)
    die_at("body:after")


def did_it_happen(order: str) -> Any:
    """Ask the world."""
    die_at("verify:asked")
    return f"charged {order}" if f"{order} " in World.effects.read_text() else NotDone


async def charge(order: str) -> str:
    """Charge an order."""
    act(order)
    return f"charged {order}"


@tool(read_only=False)
async def charge_badly(order: str) -> str:
    """Charge an order, and lose the answer."""
    act(order)
    raise ConnectionResetError("the answer was lost")


@tool(read_only=False)
async def refuse(order: str) -> str:
    """Say no, before anything has happened."""
    raise AgentError("conflict", "The shop is closed.", effect="none")


@tool(read_only=False, timeout_s=0.03)
def charge_slowly(order: str) -> str:
    """Charge an order after the caller has been answered."""
    time.sleep(0.25)
    act(order)
    time.sleep(0.02)
    return f"charged {order}"


@tool(read_only=False, idempotency_key="key")
async def charge_with_key(order: str, key: str) -> str:
    """Charge an order under a key that the shop knows; its first answer is lost."""
    World.attempts += 1
    act(order, key)
    die_at(f"attempt:{World.attempts}")
    if World.attempts == 1:
        raise ConnectionResetError("the answer was lost")
    return f"charged {order}"


# Made before the fork, like everything that takes time.
BLIND, SEEING = tool(charge, read_only=False), tool(charge, read_only=False, verify=did_it_happen)
OTHERS = (charge_badly, refuse, charge_slowly, charge_with_key)
_ = Harness([SEEING, *OTHERS], store="memory", builtins=False), postgres, sqlite


@contextlib.asynccontextmanager
async def at_home(url: str, name: str, point: str, charging: Any = BLIND) -> Any:
    """A harness of its own name over the shared store."""
    logging.disable()
    store = open_store(url)
    if point:
        store = arm(point, store)
    async with Harness([charging, *OTHERS], store=store, name=name, builtins=False) as harness:
        yield harness
    await store.close()


async def call_all(url: str, name: str, point: str, tool_name: str, orders: list[str]) -> None:
    """Make calls, and wait for a death that may come later."""
    async with at_home(url, name, point) as harness, harness.run(f"run-{name}") as run:
        await asyncio.gather(*(run.call(tool_name, {"order": order}) for order in orders))
        if tool_name == "charge_slowly":
            await asyncio.sleep(3)


async def recover(url: str, name: str, point: str) -> None:
    """Start up after a death."""
    async with at_home(url, name, point) as harness:
        await harness.recover()


async def verify(url: str, name: str, point: str) -> None:
    """Start up after a death, with a tool that can find out."""
    async with at_home(url, name, point, SEEING) as harness:
        await harness.recover()


async def resolve(url: str, name: str, point: str, happened: bool) -> None:
    """A person says what they know."""
    async with at_home(url, name, point) as harness:
        for doubt in await harness.recover():
            await harness.resolve(doubt.id, happened=happened, by="ada")


async def inherit(url: str, name: str, tool_name: str, orders: list[str]) -> dict[str, Any]:
    """Start up, make the same calls again under new ids, and tell what came of each."""
    async with at_home(url, name, "") as harness:
        await harness.recover()
        answers = {}
        async with harness.run(f"run-{name}") as run:
            for order in orders:
                result = await run.call(tool_name, {"order": order})
                answers[order] = {
                    "ok": result.ok,
                    "replayed": result.replayed,
                    "kind": None if result.error is None else str(result.error.kind),
                    "reason": None if result.error is None else result.error.reason,
                    "doubt": result.doubt,
                }
        if tool_name == "charge_slowly":  # what the heir itself began may still run
            await asyncio.sleep(0.6)
        listed = [doubt.id for doubt in await harness.doubts()]
    return {"answers": answers, "doubts": listed}
