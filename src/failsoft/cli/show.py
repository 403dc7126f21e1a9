"""`failsoft show`: one run from its first call to its last."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.doubts import as_data as doubt_data
from failsoft.cli.export import event_data
from failsoft.cli.output import json_option, moment, plain, print_json, print_table, seconds
from failsoft.cli.runs import MOST_CALLS, run_data, took
from failsoft.cli.stored import store_option, with_store
from failsoft.core.errors import NotFound
from failsoft.core.events import EventName
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from failsoft.ledger.entries import AttemptEntry, CallEntry, RunEntry
    from failsoft.stores.engine import EngineStore

__all__ = ["command"]

_LAST = "last"
_TROUBLES = (EventName.STORE_TROUBLE, EventName.STORE_RECOVERED)
_MOST_CHARS = 200


@click.command("show")
@click.argument("run_id", metavar="RUN")
@click.option("--events", "with_events", is_flag=True, help="Every event too.")
@store_option
@json_option
def command(run_id: str, with_events: bool, store_url: str | None, as_json: bool) -> int:
    """Show the run RUN, or the newest one for `last`: its calls with their failed attempts, and its doubts."""

    async def work(store: EngineStore) -> dict[str, Any]:
        journal = Journal(store)
        run = await _run(journal, run_id)
        calls = await journal.calls(run.id, MOST_CALLS)
        attempts: defaultdict[str, list[AttemptEntry]] = defaultdict(list)
        for attempt in await journal.attempts(run.id, MOST_CALLS):
            attempts[attempt.call_id].append(attempt)
        doubts = await store.doubts(None, run.id, open_only=False)
        data = {
            **run_data(run, calls),
            "data": dict(run.data),
            "calls": [_call_data(call, attempts[call.id]) for call in calls],
            "doubts": [doubt_data(doubt) for doubt in doubts],
        }
        events = await journal.events(run.id, limit=MOST_CALLS)
        told = [event_data(place, event) for place, event in events]
        data["troubles"] = [event for event in told if event["name"] in _TROUBLES]
        if with_events:
            data["events"] = told
        return data

    data = with_store(store_url, work)
    if as_json:
        print_json(data)
    else:
        _print(data)
    return 0


async def _run(journal: Journal, run_id: str) -> RunEntry:
    newest = await journal.runs(1) if run_id == _LAST else []
    run = newest[0] if newest else await journal.run(run_id)
    if run is None:
        raise NotFound(f"The journal has no run {run_id!r}.", reason="run_not_found")
    return run


def _call_data(call: CallEntry, attempts: Sequence[AttemptEntry]) -> dict[str, Any]:
    return {
        "id": call.id,
        "tool": call.tool,
        "at": call.at,
        "ok": call.ok,
        "end": call.name,
        "kind": call.kind,
        "reason": call.reason,
        "attempts": call.attempts,
        "duration_s": call.duration_s,
        "data": dict(call.data),
        "failed_attempts": [
            {"number": a.number, "at": a.at, "kind": a.kind, "reason": a.reason, "duration_s": a.duration_s}
            for a in attempts
        ],
    }


def _print(data: dict[str, Any]) -> None:
    end = data["state"] or "has not told of its end"
    click.echo(
        f"run {plain(data['id'])}: began {moment(data['started_at'])}, took {took(data)}, end: {plain(end)}\n"
    )
    rows = []
    for call in data["calls"]:
        outcome = call["end"].removeprefix("call_")
        rows.append(
            (call["id"], call["tool"], outcome, _why(call), call["attempts"], seconds(call["duration_s"]))
        )
        for a in call["failed_attempts"]:
            rows.append((f"  attempt {a['number']}", "", "failed", _why(a), "", seconds(a["duration_s"])))
    print_table(("call", "tool", "end", "why", "attempts", "took"), rows)
    for doubt in data["doubts"]:
        click.echo(f"\n{doubt['id']}: {plain(doubt['tool'])} {plain(doubt['arguments'])}: {doubt['state']}")
    for event in data["troubles"]:
        click.echo(
            f"\nstore: {plain(event['data'].get('what', ''))} ({moment(event['at'])}, {plain(event['call_id'])})"
        )
    for event in data.get("events", ()):
        rest = {key: event[key] for key in ("tool", "call_id", "attempt") if event[key]} | event["data"]
        click.echo(f"{moment(event['at'])} {event['name']} {plain(rest)}")


def _why(end: dict[str, Any]) -> str:
    """Why a call or an attempt has no value, in one cell."""
    if end["kind"] is None:
        return ""
    name = end["kind"] if end["reason"] in (None, end["kind"]) else f"{end['kind']} ({end['reason']})"
    message = end.get("data", {}).get("message") or ""
    return f"{name}: {message[:_MOST_CHARS]}" if message else name
