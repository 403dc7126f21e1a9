"""agent-once and tenacity: writes at most once for each key, retries inside where nothing was sent.

As agent-once's README: "Quickstart" (SQLite, a scope for each run), "States" (`unknown_on` names the client's errors after
which it may have happened) and "Async". tenacity goes inside, for refused connections and 429, because an effect that
ended in an error is never run again by itself; tools that can be repeated get tenacity alone.
No `verify` callback, as no system here has one.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import tenacity
from once import Once

from bench.chaos.systems._common import TIMEOUT_S, plain_loop
from bench.chaos.systems.with_tenacity import limited, retried

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "agent-once + tenacity"
PACKAGES = ("agent-once", "tenacity")
_runs = itertools.count()


class ServerError(Exception):
    """A 5xx: it may have been carried out."""


def _is_unsent(exc: BaseException) -> bool:
    if isinstance(exc, httpx.HTTPStatusError):
        return exc.response.status_code == 429
    return isinstance(exc, httpx.ConnectError)


def _write(once: Once, each: WorldTool) -> Any:
    request = tenacity.retry(
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_exponential_jitter(initial=0.5, max=10),
        retry=tenacity.retry_if_exception(_is_unsent),
        reraise=True,
    )(each.fn)

    async def run(**arguments: Any) -> str:
        try:
            return str(await request(**arguments))
        except httpx.HTTPStatusError as exc:
            if exc.response.is_server_error:
                raise ServerError(str(exc)) from exc
            raise

    return once.tool(name=each.name, timeout=TIMEOUT_S)(run)


def prepare(tools: list[WorldTool]) -> dict[str, Any]:
    """One store for all runs, as in production; a run has a scope of its own in it."""
    folder = tempfile.TemporaryDirectory(prefix="chaos-once-", ignore_cleanup_errors=True)
    maybe = (TimeoutError, ServerError, httpx.TimeoutException, httpx.ReadError, httpx.RemoteProtocolError)
    once = Once(str(Path(folder.name) / "once.db"), unknown_on=maybe)
    table = {
        each.name: retried(limited(each.fn)) if each.idempotent else _write(once, each) for each in tools
    }
    return {"once": once, "table": table, "folder": folder}


async def build(made: dict[str, Any], clock: VirtualClock) -> Call:
    """One run, with a scope of its own."""
    scope = f"run {next(_runs)}"
    loop = plain_loop(made["table"])

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        with made["once"].scope(scope):
            return await loop(name, arguments)

    return call
