"""tenacity and a time-out, by hand: three attempts, exponential wait with jitter, for what is worth a second attempt."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import tenacity

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "tenacity + timeout"
ONLY_READS = False


def is_worth_it(exc: BaseException) -> bool:
    """Transport errors, time-outs, 429 and 5xx."""
    if isinstance(exc, httpx.HTTPStatusError):
        return exc.response.status_code == 429 or exc.response.status_code >= 500
    return isinstance(exc, httpx.TransportError | TimeoutError)


def retried(fn: Any) -> Any:
    """`fn` with the decorator that the documentation shows."""
    return tenacity.retry(
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_exponential_jitter(initial=0.5, max=10),
        retry=tenacity.retry_if_exception(is_worth_it),
        reraise=True,
    )(fn)


async def build(tools: list[WorldTool], clock: VirtualClock, only_reads: bool = ONLY_READS) -> Call:
    """A table of decorated functions."""

    def limited(fn: Any) -> Any:
        async def run(**arguments: Any) -> str:
            async with asyncio.timeout(30):
                return str(await fn(**arguments))

        return run

    table = {
        each.name: retried(limited(each.fn)) if each.read_only or not only_reads else limited(each.fn)
        for each in tools
    }

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        try:
            if name not in table:
                return f"Error: {name} is not a valid tool, try one of {', '.join(table)}.", True
            return await table[name](**json.loads(arguments)), False
        except Exception as exc:
            return f"Error: {exc!r}", True

    return call
