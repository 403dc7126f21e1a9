"""tenacity and a time-out, by hand: three attempts, exponential wait with jitter, for what is worth a second attempt.

As tenacity's documentation shows it (tenacity.readthedocs.io: "Waiting before retrying", "Whether to retry",
"Async and retry"), with `reraise=True` so that the model reads the last error and not tenacity's own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import tenacity

from bench.chaos.systems._common import TIMEOUT_S, is_worth_it, plain_loop

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "tenacity + timeout"
PACKAGES = ("tenacity",)


def retried(fn: Any) -> Any:
    """`fn` with the decorator that the documentation shows."""
    return tenacity.retry(
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_exponential_jitter(initial=0.5, max=10),
        retry=tenacity.retry_if_exception(is_worth_it),
        reraise=True,
    )(fn)


def limited(fn: Any) -> Any:
    """`fn` under a time-out."""

    async def run(**arguments: Any) -> str:
        async with asyncio.timeout(TIMEOUT_S):
            return str(await fn(**arguments))

    return run


async def build(tools: list[WorldTool], clock: VirtualClock) -> Call:
    """A table of decorated functions."""
    return plain_loop({each.name: retried(limited(each.fn)) for each in tools})
