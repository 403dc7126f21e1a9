"""A desk whose tools take their time, for tests that interrupt it."""

from __future__ import annotations

import asyncio

from failsoft import Harness, Policy, Timeout, tool


@tool(read_only=False)
async def work(seconds: float) -> str:
    """Work, and say when it begins and how it ends."""
    print("begun", flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise
    return "worked"


harness = Harness([work], policy=Policy(timeout=Timeout(grace_s=1.5)), store="memory")
