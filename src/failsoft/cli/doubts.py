"""`failsoft doubts`: calls that may have happened, and a person's word about them."""

from __future__ import annotations

import getpass
import json
import time
from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.output import clean, json_option, moment, note, plain, print_json, print_table
from failsoft.cli.stored import store_option, with_store
from failsoft.core.errors import NotFound
from failsoft.core.events import Event, EventName
from failsoft.harness.codec import encode_result
from failsoft.ledger.records import DoubtState
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from failsoft.ledger.records import Doubt
    from failsoft.stores.engine import EngineStore

__all__ = ["as_data", "command"]


class _ListFirst(click.Group):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("doubts", cls=_ListFirst)
def command() -> None:
    """Calls that may have happened, and that nobody has found out about.

    An identical call is not run while a doubt is open.
    Without a further word the open ones are listed.
    """


@command.command("list")
@click.option("--run", "run_id", metavar="ID", help="Only those of this run.")
@click.option(
    "--scope", metavar="NAME", help="Only those of this scope; a harness's name, unless it says otherwise."
)
@click.option("--all", "every", is_flag=True, help="Those that are resolved too.")
@store_option
@json_option
def list_(run_id: str | None, scope: str | None, every: bool, store_url: str | None, as_json: bool) -> int:
    """List the doubts, oldest first.

    Calls whose process is gone, or whose time is over, are turned into doubts first.
    """

    async def work(store: EngineStore) -> list[Doubt]:
        await store.recover(scope)
        return await store.doubts(scope, run_id, open_only=not every)

    found = with_store(store_url, work)
    if as_json:
        print_json([as_data(doubt) for doubt in found])
    elif not found:
        note("no doubts")
    else:
        columns = ("doubt", "since", "tool", "arguments", "run", "who may say", "state")
        print_table(columns, [_row(as_data(doubt)) for doubt in found])
    return 0


def _row(data: dict[str, Any]) -> tuple[Any, ...]:
    since = moment(data["since"])
    who = data["resolvable_by"] if data["state"] == "open" else data["resolved_by"]
    return data["id"], since, data["tool"], data["arguments"], data["run_id"], who, data["state"]


@command.command("show")
@click.argument("doubt_id", metavar="DOUBT")
@store_option
@json_option
def show(doubt_id: str, store_url: str | None, as_json: bool) -> int:
    """Show everything that is known of one doubt."""

    async def work(store: EngineStore) -> Doubt:
        return _found(await store.doubt(doubt_id), doubt_id)

    data = as_data(with_store(store_url, work))
    if as_json:
        print_json(data)
        return 0
    times = {name: moment(data[name]) for name in ("since", "resolved_at")}
    for name, value in {**data, **times}.items():
        if value not in (None, "", "–"):
            click.echo(f"{name.replace('_', ' ')}: {plain(value)}")
    if data["state"] == DoubtState.OPEN:
        note(
            f"\nWhen you have found out:\n  failsoft doubts resolve {data['id']} --happened | --did-not-happen"
        )
    return 0


@command.command("resolve")
@click.argument("doubt_id", metavar="DOUBT")
@click.option("--happened/--did-not-happen", "happened", default=None, help="What you have found out.")
@click.option(
    "--result", "result_text", metavar="JSON", help="What the call gave; identical calls of its run get it."
)
@click.option("--by", metavar="NAME", help="Who says so; default your login name.")
@click.option("--evidence", metavar="TEXT", default="", help="How you know.")
@store_option
@json_option
def resolve(
    doubt_id: str,
    happened: bool | None,
    result_text: str | None,
    by: str | None,
    evidence: str,
    store_url: str | None,
    as_json: bool,
) -> int:
    """Say whether a call in doubt happened.

    After --did-not-happen an identical call may run; after --happened it is answered and not run again in its run.
    Successes are remembered within a run: a call that had none blocks nothing once its doubt is resolved.
    Saying the same twice is fine, saying the opposite is refused.
    """
    if happened is None:
        raise click.UsageError("say --happened or --did-not-happen; a doubt is not resolved by a guess")
    result = _result(result_text, happened)
    who = by or _login()

    async def work(store: EngineStore) -> Doubt:
        doubt = await store.resolve(doubt_id, happened=happened, result=result, by=who, evidence=evidence)
        journal = Journal(store)
        journal.write(_event(doubt, happened, who))
        await journal.close()
        return doubt

    doubt = with_store(store_url, work)
    if as_json:
        print_json(as_data(doubt))
        return 0
    then = _then(doubt, happened)
    click.echo(f"{doubt.id}: {plain(doubt.tool)} {'happened' if happened else 'did not happen'}; {then}")
    return 0


def _then(doubt: Doubt, happened: bool) -> str:
    if not happened:
        return "an identical call may run now"
    if doubt.run_id is None:
        return "it had no run, so an identical call runs again"
    return "it is not run again in its run"


def _result(text: str | None, happened: bool) -> str | None:
    if text is None:
        return None
    if not happened:
        raise click.UsageError("--result is what the call gave; it goes with --happened")
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise click.BadParameter(f"it is no JSON: {exc}; a text needs quotes", param_hint="--result") from exc
    return encode_result(value, text)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name, as in containers
        return "operator"


def _event(doubt: Doubt, happened: bool, by: str) -> Event:
    data = {"doubt": doubt.id, "happened": happened, "by": by}
    return Event(
        name=EventName.DOUBT_RESOLVED,
        at=time.time(),
        tool=doubt.tool,
        call_id=doubt.call_id,
        run_id=doubt.run_id,
        data=data,
    )


def _found(doubt: Doubt | None, doubt_id: str) -> Doubt:
    if doubt is None:
        raise NotFound(f"There is no doubt {doubt_id!r}.", reason="doubt_not_found")
    return doubt


def as_data(doubt: Doubt) -> dict[str, Any]:
    """What may be shown of a doubt: no tokens and no keys, and no secrets among the arguments."""
    try:
        arguments = json.loads(doubt.arguments)
    except ValueError:
        arguments = doubt.arguments
    data: dict[str, Any] = clean(
        {
            "id": doubt.id,
            "kind": str(doubt.kind),
            "state": str(doubt.state),
            "tool": doubt.tool,
            "arguments": arguments,
            "known": doubt.known,
            "since": doubt.since,
            "scope": doubt.scope,
            "run_id": doubt.run_id,
            "call_id": doubt.call_id,
            "resolvable_by": doubt.resolvable_by,
            "resolved_by": doubt.resolved_by,
            "resolved_at": doubt.resolved_at,
            "evidence": doubt.evidence,
        }
    )
    return data
