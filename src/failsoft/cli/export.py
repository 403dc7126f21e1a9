"""`failsoft export`: the journal for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.output import print_json
from failsoft.cli.stored import since_option, store_option, with_store
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from failsoft.core.events import Event
    from failsoft.stores.engine import EngineStore

__all__ = ["command", "event_data"]

_PAGE = 1000


@click.command("export")
@click.option("--run", "run_id", metavar="ID", help="Only the events of this run.")
@since_option
@click.option(
    "--jsonl", "form", flag_value="jsonl", default="jsonl", help="One JSON object a line; the default."
)
@click.option("--json", "form", flag_value="json", help="One JSON array.")
@store_option
def command(run_id: str | None, since: float, form: str, store_url: str | None) -> int:
    """Print the journal's events in the order in which they were written."""
    gathered: list[dict[str, Any]] = []
    take = gathered.append if form == "json" else print_json

    async def work(store: EngineStore) -> None:
        journal, after = Journal(store), 0
        while page := await journal.events(run_id, after=after, limit=_PAGE):
            for place, event in page:
                if event.at >= since:
                    take(event_data(place, event))
            after = page[-1][0]

    with_store(store_url, work)
    if form == "json":
        print_json(gathered)
    return 0


def event_data(place: int, event: Event) -> dict[str, Any]:
    """One event as plain data. The harness has taken the secrets out before it was written."""
    return {
        "v": event.v,
        "seq": place,
        "name": str(event.name),
        "at": event.at,
        "run_id": event.run_id,
        "call_id": event.call_id,
        "tool": event.tool,
        "attempt": event.attempt,
        "data": dict(event.data),
    }
