"""Tools for worker processes: importable by name."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator

from failsoft import CallContext, Policy, current, tool
from failsoft.core.calls import Progress
from failsoft.policies import Isolation, Timeout

MODEST = Policy(isolation=Isolation("process", memory_mb=128), timeout=Timeout(attempt_s=10))


@tool(read_only=True, isolation="process")
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@tool(read_only=True, isolation="process")
async def add_async(a: int) -> int:
    """Add, async."""
    return a + 1


@tool(read_only=True, isolation="process")
def numbers(n: int, fail: bool = False) -> Iterator[int]:
    """Count, with progress."""
    for i in range(n):
        yield Progress(i, n)  # type: ignore[misc]
        yield i
    if fail:
        raise ConnectionRefusedError(111, "refused")


@tool(read_only=True, isolation="process")
async def numbers_async(n: int) -> AsyncIterator[int]:
    """Count, async."""
    for i in range(n):
        yield i


@tool(read_only=True, isolation="process")
def about(ctx: CallContext, what: str) -> dict[str, object]:
    """Tell of the call."""
    ctx.progress(1, 2, what)
    assert current() is ctx
    return {"pid": os.getpid(), "run": ctx.run_id, "left_s": ctx.remaining_s, "attempt": ctx.attempt}


@tool(read_only=False, isolation="process", timeout_s=0.5)
def charge(amount: int, sleep_s: float = 60) -> str:
    """Charge."""
    time.sleep(sleep_s)
    return f"charged {amount}"


@tool(read_only=False, isolation="process", timeout_s=5)
def crash_after(amount: int) -> str:
    """Die while charging."""
    os._exit(7)


@tool(read_only=False, isolation="process", timeout_s=5)
def acts_then_refused(amount: int) -> str:
    """Act, then fail with what would be a proof."""
    current().acted()
    raise ConnectionRefusedError(111, "refused")


@tool(read_only=True, isolation="process")
def hungry(megabytes: int) -> int:
    """Take memory."""
    return len(bytearray(megabytes << 20))


@tool(read_only=False, idempotency_key="key", isolation="process")
def keyed(amount: int, key: str) -> str:
    """Take a key."""
    return key


@tool(read_only=True, isolation="process", timeout_s=0.4)
def busy(seconds: float) -> str:
    """Keep a worker busy."""
    time.sleep(seconds)
    return "rested"
