"""`failsoft stats`: how calls ended, and which arguments models get wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.argument_stats import FieldStats, argument_stats
from failsoft.cli.output import json_option, moment, note, plain, print_json, print_table
from failsoft.cli.runs import MOST_CALLS
from failsoft.cli.stored import since_option, store_option, with_store
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from failsoft.core.events import Event
    from failsoft.ledger.entries import ToolCounts
    from failsoft.stores.engine import EngineStore

__all__ = ["command", "store_lines"]


@click.command("stats")
@click.option(
    "--arguments", is_flag=True, help="Which fields models get wrong, and how many turns repair takes."
)
@since_option
@store_option
@json_option
def command(arguments: bool, since: float, store_url: str | None, as_json: bool) -> int:
    """Count how calls ended, by tool."""
    if arguments:
        return _arguments(since, store_url, as_json)

    async def work(store: EngineStore) -> tuple[list[ToolCounts], list[Event]]:
        journal = Journal(store)
        return await journal.counts(since=since), await journal.troubles(since=since)

    counted, troubles = with_store(store_url, work)
    data = [_count_data(counts) for counts in counted]
    for line in store_lines(troubles):
        note(line)
    if as_json:
        print_json(data)
    elif not data:
        note("no calls")
    else:
        rows = [
            (
                row["tool"],
                row["calls"],
                row["failed"],
                _share(row["failed"], row["calls"]),
                row["attempts"],
                _kinds(row["kinds"]),
            )
            for row in data
        ]
        print_table(("tool", "calls", "failed", "share", "attempts", "kinds"), rows)
    return 0


def store_lines(troubles: Iterable[Event]) -> list[str]:
    """What the store itself went through, one line for each kind of trouble and of its end."""
    last: dict[tuple[str, str], Event] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for event in troubles:
        kind = (str(event.name), str(event.data.get("what", "")))
        last[kind] = event
        counts[kind] += int(event.data.get("count") or 1)
    return [
        f"{name}: {plain(what)} ({count}), last at {moment(last[name, what].at)}"
        for (name, what), count in counts.items()
    ]


def _arguments(since: float, store_url: str | None, as_json: bool) -> int:
    async def work(store: EngineStore) -> list[FieldStats]:
        calls = await Journal(store).calls(None, MOST_CALLS)
        return argument_stats(call for call in calls if call.at >= since)

    found = with_store(store_url, work)
    if as_json:
        print_json([_field_data(stats) for stats in found])
    elif not found:
        note("no argument was wrong")
    else:
        columns = (
            "tool",
            "field",
            "wrong",
            "of calls",
            "share",
            "turns to mend",
            "given up",
            "repaired",
            "problem",
        )
        print_table(columns, [_field_row(stats) for stats in found])
    return 0


def _count_data(counts: ToolCounts) -> dict[str, Any]:
    return {
        "tool": counts.tool,
        "calls": counts.calls,
        "failed": counts.failed,
        "attempts": counts.attempts,
        "kinds": dict(counts.kinds),
    }


def _field_data(stats: FieldStats) -> dict[str, Any]:
    return {
        "tool": stats.tool,
        "field": stats.path,
        "calls": stats.calls,
        "wrong": stats.wrong,
        "repaired": stats.repaired,
        "problems": dict(stats.problems.most_common()),
        "mended": len(stats.turns),
        "mean_turns": stats.mean_turns,
        "given_up": stats.given_up,
    }


def _field_row(stats: FieldStats) -> tuple[Any, ...]:
    turns = "–" if stats.mean_turns is None else f"{stats.mean_turns:.2g}"
    problem = stats.problems.most_common(1)[0][0] if stats.problems else ""
    share = _share(stats.wrong, stats.calls)
    return (
        stats.tool,
        stats.path,
        stats.wrong,
        stats.calls,
        share,
        turns,
        stats.given_up,
        stats.repaired,
        problem,
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
