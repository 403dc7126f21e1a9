"""Tools that work, hang or crash as they are told, and write down what they have done."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from failsoft import Bulkhead, Tool, tool

LIMIT_S = 0.3
# Longer than the limit and the grace, so that it is a zombie for a while; a thread cannot be stopped from outside.
HANG_S = 0.9
WORKERS = max(2, os.cpu_count() or 1)


def _act(n: int, world: str) -> None:
    """The effect: one line of less than a page in a file opened for appending is written whole."""
    with open(world, "a") as file:
        file.write(f"{n}\n")


@tool(read_only=False, isolation="process", timeout_s=LIMIT_S, bulkhead=Bulkhead(limit=WORKERS, queue=10_000))
def in_process(n: int, how: str, world: str) -> str:
    """Work in a process."""
    if how == "hang":
        time.sleep(60)
    if how == "hang_late":
        _act(n, world)
        while True:
            pass
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "crash_late":
        _act(n, world)
        os._exit(3)
    _act(n, world)
    return str(n)


@tool(read_only=False, timeout_s=LIMIT_S, bulkhead=Bulkhead(limit=24, queue=10_000))
def in_thread(n: int, how: str, world: str) -> str:
    """Work in a thread."""
    if how.startswith("hang"):
        time.sleep(HANG_S)
    if how == "crash":
        raise RuntimeError("crashed")
    _act(n, world)
    if how == "crash_late":
        raise RuntimeError("crashed afterwards")
    return str(n)


@tool(read_only=False, timeout_s=LIMIT_S)
async def inline(n: int, how: str, world: str) -> str:
    """Work in the caller's task."""
    if how == "hang":
        await asyncio.sleep(60)
    if how == "crash":
        raise RuntimeError("crashed")
    _act(n, world)
    if how == "hang_late":
        await asyncio.sleep(60)
    if how == "crash_late":
        raise RuntimeError("crashed afterwards")
    return str(n)


@tool(read_only=False, isolation="task", timeout_s=LIMIT_S, bulkhead=Bulkhead(limit=24, queue=10_000))
async def in_task(n: int, how: str, world: str) -> str:
    """Work in a task of its own."""
    end = time.monotonic() + HANG_S
    while how == "hang" and time.monotonic() < end:
        try:
            await asyncio.sleep(HANG_S)
        except asyncio.CancelledError:
            continue
    if how == "crash":
        raise RuntimeError("crashed")
    _act(n, world)
    if how == "hang_late":
        await asyncio.sleep(60)
    if how == "crash_late":
        raise RuntimeError("crashed afterwards")
    return str(n)


# Name, and how many of ten calls.
TOOLS: tuple[tuple[Tool[..., object], int], ...] = (
    (in_process, 4),
    (in_thread, 3),
    (inline, 2),
    (in_task, 1),
)
