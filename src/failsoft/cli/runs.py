"""`failsoft runs`: what ran here lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.output import json_option, moment, note, print_json, print_table, seconds
from failsoft.cli.stored import store_option, with_store
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.ledger.entries import CallEntry, RunEntry
    from failsoft.stores.engine import EngineStore

__all__ = ["MOST_CALLS", "command", "run_data", "took"]

MOST_CALLS = 100_000


@click.command("runs")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@store_option
@json_option
def command(limit: int, store_url: str | None, as_json: bool) -> int:
    """List runs, the newest first.

    A run that has not told of its end is at work, or was killed.
    """

    async def work(store: EngineStore) -> list[dict[str, Any]]:
        journal = Journal(store)
        return [run_data(run, await journal.calls(run.id, MOST_CALLS)) for run in await journal.runs(limit)]

    found = with_store(store_url, work)
    if as_json:
        print_json(found)
    elif not found:
        note("no runs")
    else:
        columns = ("run", "started", "took", "end", "calls", "failed")
        print_table(columns, [_row(run) for run in found])
    return 0


def _row(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["id"], moment(run["started_at"]), took(run), run["state"], run["calls"], run["failed"]


def took(run: dict[str, Any]) -> str:
    """How long a run lasted; until its last word where it has not told of its end."""
    return seconds((run["ended_at"] or run["last_at"]) - run["started_at"])


def run_data(run: RunEntry, calls: Sequence[CallEntry]) -> dict[str, Any]:
    """A run as plain data; `state` is None where it has not told of its end."""
    return {
        "id": run.id,
        "started_at": run.started_at,
        "last_at": run.last_at,
        "ended_at": run.ended_at,
        "state": run.state,
        "calls": len(calls),
        "failed": sum(not call.ok for call in calls),
    }
