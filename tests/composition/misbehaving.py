"""Tools that misbehave in each way that the isolation table names, for each isolation that can hold them.

Importable by name, for worker processes. A body in a thread cannot be stopped: it ends when `RELEASED` is set.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from failsoft import Bulkhead, Timeout, Tool, tool
from failsoft.policies import Isolation
from tests.isolation import bodies

LIMIT_S = 0.5
ONE_PLACE = Bulkhead(limit=1, queue=0)
RELEASED = threading.Event()


def thread_sleeps() -> str:
    """Sleep until it is released."""
    RELEASED.wait(20)
    return "late"


def thread_spins() -> str:
    """Spin until it is released."""
    end = time.monotonic() + 20
    while not RELEASED.is_set() and time.monotonic() < end:
        pass
    return "late"


def thread_blocks_in_c() -> str:
    """Block in one call of C that lets other threads run."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=2.0)
    return "late"


def thread_raises_in_cleanup() -> str:
    """Raise where it should clean up."""
    try:
        RELEASED.wait(20)
    finally:
        raise ValueError("in cleanup")


async def swallows() -> str:
    """Swallow every cancel until it is released."""
    end = time.monotonic() + 20
    while not RELEASED.is_set() and time.monotonic() < end:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return "late"


async def swallows_once() -> str:
    """Swallow one cancel, and answer soon after."""
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        await asyncio.sleep(0.1)
    return "late"


async def sleeps() -> str:
    """Sleep."""
    await asyncio.sleep(20)
    return "never"


async def raises_in_cleanup() -> str:
    """Raise where it should clean up."""
    try:
        await asyncio.sleep(20)
    finally:
        raise ValueError("in cleanup")


def huge() -> str:
    """Return ten megabytes."""
    return "x" * (10 << 20)


async def huge_async() -> str:
    """Return ten megabytes."""
    return "x" * (10 << 20)


def too_huge() -> str:
    """Return more than may leave a worker."""
    return "x" * (65 << 20)


def tool_of(body: Any, isolation: str, limit_s: float = LIMIT_S) -> Tool[..., Any]:
    """A protected tool of that body with one place."""
    made: Tool[..., Any] = tool(
        body,
        name="bad",
        description="Misbehave.",
        read_only=False,
        isolation=Isolation(isolation, memory_mb=300 if isolation == "process" else None),
        timeout=Timeout(attempt_s=limit_s, total_s=limit_s, grace_s=0.3),
        bulkhead=ONE_PLACE,
    )
    return made


def well_of(isolation: str) -> Tool[..., Any]:
    """A tool that behaves, in the same isolation."""
    made: Tool[..., Any] = tool(
        bodies.add_async if isolation in ("inline", "task") else bodies.add,
        name="good",
        description="Add.",
        read_only=True,
        isolation=isolation,
    )
    return made
