"""failsoft: a script that makes its calls in a run of a fixed id, and is started again with the same id."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bench.crash.bank import pay, was_paid
from bench.crash.beside import database
from bench.crash.systems import Setup

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

PACKAGES = ("psycopg",)
IMPORTS = ("failsoft",)
RESOLVES = True  # a person's word about a doubt is taken, and the run goes on with it
_PAGE = "docs/how-to/payment-in-doubt.md"
_ASKED = "A payment in flight is in doubt; its `verify` asks the bank, so that it is neither repeated nor forgotten."
_BLIND = "A payment in flight is in doubt: not repeated, and reported until somebody has looked."
_KEYED = "A payment in flight is repeated under the same idempotency key."
SETUPS = tuple(
    Setup(title=f"failsoft, {name}, {how}", store=name, page=_PAGE, promise=promise, is_quick=quick, **more)
    for name, quick in (("SQLite", True), ("PostgreSQL", False))
    for how, promise, more in (
        ("verify", _ASKED, {"can_ask": True}),
        ("no verify", _BLIND, {}),
        ("keys", _KEYED, {"keys": True}),
    )
)


def beside(setup: Setup, folder: Path) -> AbstractContextManager[dict[str, Any]]:
    """The database."""
    return database(setup.store, folder)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Make all the calls; those that are in doubt are told, and the others go on."""
    return asyncio.run(_work(job))


def _tool(job: dict[str, Any]) -> Any:
    from failsoft import NotDone, tool

    def charge(step: int) -> str:
        """Pay one step."""
        return pay(job["bank"], job["run"], step)

    def charge_with_key(step: int, key: str) -> str:
        """Pay one step under a key that the bank knows."""
        return pay(job["bank"], job["run"], step, key)

    def find_out(step: int) -> Any:
        return f"{job['run']}/{step}" if was_paid(job["bank"], job["run"], step) else NotDone

    if job["keys"]:
        return tool(charge_with_key, name="charge", read_only=False, idempotency_key="key")
    return tool(charge, read_only=False, verify=find_out if job["can_ask"] else None)


async def _work(job: dict[str, Any]) -> dict[str, Any]:
    from failsoft import Harness
    from failsoft.stores import open_store

    # What a person found out: doubts by id, and whether they happened.
    said = job.get("said", {})
    doubts = {}
    store = open_store(job["url"])
    async with Harness([_tool(job)], name=job["run"], store=store) as harness:
        for doubt in await harness.recover():
            if doubt.id in said:
                await harness.resolve(doubt.id, happened=said[doubt.id], by="ada")
        async with harness.run(job["run"]) as run:
            for step in range(job["steps"]):
                result = await run.call("charge", {"step": step})
                if not result.ok:
                    doubts[result.doubt or f"failed: {result.error}"] = step
    cleared = [
        each for each in await store.doubts(job["run"], open_only=False) if each.resolved_by == "verify"
    ]
    await store.close()
    return {"doubts": doubts, "cleared": len(cleared)}
