"""`failsoft prune`: forget what ended long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from failsoft.cli.output import json_option, print_json
from failsoft.cli.stored import span_s, store_option, with_store

if TYPE_CHECKING:
    from failsoft.stores.engine import EngineStore

__all__ = ["command"]


@click.command("prune")
@click.option(
    "--older-than", "older_than", metavar="SPAN", required=True, help="How old it must be: 12h, 30d, 8w."
)
@store_option
@json_option
def command(older_than: str, store_url: str | None, as_json: bool) -> int:
    """Forget runs, calls, results and resolved doubts that ended more than SPAN ago.

    What is running or in doubt stays, however old it is.
    A call whose result is forgotten may run again in its run.
    """
    age_s = span_s(older_than)

    async def work(store: EngineStore) -> int:
        return await store.prune(age_s)

    gone = with_store(store_url, work)
    print_json({"rows": gone}) if as_json else click.echo(f"{gone} row{'s' if gone != 1 else ''} forgotten")
    return 0
