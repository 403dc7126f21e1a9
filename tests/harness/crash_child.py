"""A process that makes one call and is killed at a named point. Run by `test_crash.py`, never imported by it.

usage: crash_child.py DATABASE EFFECTS POINT
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from failsoft import Harness, tool
from failsoft.stores import open_store

DATABASE, EFFECTS, POINT = sys.argv[1:4]
POINTS = (
    "before_look",
    "after_look",
    "before_begin",
    "after_begin",
    "in_body",
    "after_effect",
    "before_settle",
    "after_settle",
)


def die_at(point):
    """End at once, as a power cut would."""
    if point == POINT:
        os.kill(os.getpid(), signal.SIGKILL)


@tool(read_only=False)
async def charge(order: str) -> str:
    """Charge an order."""
    die_at("in_body")
    with Path(EFFECTS).open("a") as file:
        file.write(f"{order}\n")
        file.flush()
        os.fsync(file.fileno())
    die_at("after_effect")
    return f"charged {order}"


def deadly(store):
    """The store, with a point of death before and after each step."""
    for name in ("look", "begin", "settle"):
        plain = getattr(store, name)

        def wrap(plain, name):
            async def step(*args, **kwargs):
                die_at(f"before_{name}")
                answer = await plain(*args, **kwargs)
                die_at(f"after_{name}")
                return answer

            return step

        setattr(store, name, wrap(plain, name))
    return store


async def main():
    """Recover, call once, and say what came of it."""
    async with Harness([charge], store=deadly(open_store(f"sqlite:///{DATABASE}"))) as harness:
        recovered = await harness.recover()
        async with harness.run("run-1") as run:
            result = await run.call("charge", {"order": "o1"})
        doubts = await harness.doubts()
    print(
        json.dumps(
            {
                "ok": result.ok,
                "kind": None if result.error is None else str(result.error.kind),
                "replayed": result.replayed,
                "doubts": [doubt.id for doubt in doubts],
                "recovered": len(recovered),
            }
        )
    )


asyncio.run(main())
