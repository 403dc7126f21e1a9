"""What the page says in words: the figures that come first, and one sentence for each picture.

Every number in a sentence is taken from the stored rows, so that the words cannot be of another run than the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Headline", "headlines", "is_ours", "sentence"]

Rows = list[dict[str, Any]]
Results = dict[str, dict[str, Any]]

# By the beginning of a table's title; the first that fits.
_SAYS = (
    ("careful planner: exact", "Tasks that end exactly as the ground truth does, while more requests fail."),
    (
        "bold planner: exact",
        "The same with a planner that repeats a write whose failure it does not understand.",
    ),
    (
        "careful planner: effects done twice",
        "Writes that were carried out more often than the task has them.",
    ),
    ("bold planner: effects done twice", "The bold planner's repeats; a runtime that remembers stops them."),
    ("careful planner: wrong claims", "Answers that said “done” and it was not, or “not done” and it was."),
    ("bold planner: wrong claims", "The same of the answers that the bold planner got."),
    (
        "payments made twice",
        "Payments that the bank has booked twice, because the step in flight was run again.",
    ),
    (
        "payments forgotten",
        "Payments that are missing while the system says that all is done.",
    ),
    ("payments told as in doubt", "Payments of which the system says itself that it does not know."),
    ("runs that did not end", "Runs that were not over after three minutes."),
    (
        "time to recover, median",
        "From the kill to the next new payment, with the start of the process; thin: quartiles.",
    ),
    (
        "spoiled calls with one meaning",
        "Calls as models and gateways spoil them, still with one meaning: read as meant.",
    ),
    (
        "spoiled calls: run with something else",
        "Calls that ran with values that nobody meant; a refusal counts as none.",
    ),
    ("spoiled calls: time", "Reading one spoiled call, the schema's own cost included."),
    (
        "one call, the body does not suspend",
        "What a call costs in all, when the tool answers without waiting.",
    ),
    (
        "one call, the body suspends once",
        "The same for a tool that waits once, as any tool with a request does.",
    ),
    ("1,000 concurrent calls", "A thousand calls at once, each of 10 ms."),
    ("imports", "What a program pays before its first line, bytecode written before."),
    (
        "a protected call's two durable writes",
        "Intent and result of one call on the disk, beside the bare store.",
    ),
    (
        "round trip to a worker, as scheduled",
        "One call to a process that is already there, placed by the system.",
    ),
    ("round trip to a worker", "The same with the workers held on another core."),
    ("after a body that spins", "How long a place is lost to a body that never ends."),
    ("after the deadline", "How late the caller is answered when the body does not end."),
    ("closed breaker", "What a breaker costs while nothing is wrong."),
    ("rejection", "What a breaker costs while it refuses."),
    ("rate decision", "One question to the rate limit."),
    ("success through retry", "What the policies cost around a function that succeeds."),
    (
        "Decision time by size",
        "A larger window must not make a decision slower; where slow calls are counted, two numbers of as many bits are shifted.",
    ),
    ("Decision time by number", "Nor must more keys, more calls inside, or more calls that wait."),
    (
        "Breakers asked for in turn",
        "What the processor's caches do not hold comes from memory, as in a plain dict of as many objects.",
    ),
    ("memory", "Bytes for each key."),
    ("breakers and rates of a fleet", "A decision that is shared needs no round trip while all is well."),
    (
        "one call of an MCP server",
        "A call on the server's own standard input, and through what stands before it.",
    ),
    ("calls of an MCP server", "Calls a second with 32 under way; longer is better."),
    ("one turn of an agent", "Processor time of one model turn with one call, beside the bare loop."),
    ("arguments:", "Reading and validating valid arguments, beside pydantic's own reading of the same text."),
    ("repair of long texts", "Reading long broken texts must stay linear: seconds for each megabyte."),
    (
        "classifying a failure",
        "Finding the kind of an exception, beside a plain `isinstance` over as many classes.",
    ),
    ("redaction, the worst", "The text on which it is slowest."),
    ("redaction", "Text a second; longer is better."),
)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One figure for the top of the page.

    Args:
        figure: The number, with its unit.
        text: What it is of, and what it is beside.
        suite: Where it comes from.
    """

    figure: str
    text: str
    suite: str


def is_ours(case: str) -> bool:
    """Whether a row is failsoft's."""
    return "failsoft" in case.replace(",", " ").replace(":", " ").split()


def sentence(title: str) -> str:
    """What a picture shows; empty where nobody has said."""
    return next((words for begin, words in _SAYS if title.startswith(begin)), "")


def headlines(results: list[dict[str, Any]]) -> list[Headline]:
    """The first figures, of those suites that are there."""
    by_suite = {each["suite"]: each for each in results}
    found = [make(by_suite) for make in _MAKERS]
    return [each for each in found if each is not None]


def _exact(results: Results) -> Headline | None:
    values = _at_rate(results, "careful planner: exact", 30)
    if values is None:
        return None
    ours, (name, best), _ = values
    return Headline(
        figure=f"{ours:.1f} %",
        text=f"of others' tasks end exactly right while 30 % of all requests fail; the best peer ({name}): {best:.1f} %",
        suite="chaos",
    )


def _twice(results: Results) -> Headline | None:
    values = _at_rate(results, "bold planner: effects done twice", 30)
    if values is None:
        return None
    ours, _, peers = values
    if max(peers) == 0:
        return None
    return Headline(
        figure=f"{ours:.2g}",
        text=f"effects done twice in 100 tasks at 30 % faults, with the bold planner; peers {min(peers):.2g} to {max(peers):.2g}",
        suite="chaos",
    )


def _at_rate(results: Results, table: str, rate: int) -> tuple[float, tuple[str, float], list[float]] | None:
    """failsoft's value, the best peer with its own, and all peers', at a fault rate."""
    begin = f"{rate} % faults: "
    rows = [row for row in _rows(results, "chaos", table) if row["case"].startswith(begin)]
    ours = [row["value"] for row in rows if is_ours(row["case"])]
    peers = [(row["case"].removeprefix(begin), row["value"]) for row in rows if not is_ours(row["case"])]
    if not ours or not peers:
        return None
    is_more_better = rows[0]["unit"] == "%"
    best = (max if is_more_better else min)(peers, key=lambda peer: peer[1])
    return ours[0], best, [value for _, value in peers]


def _crash(results: Results) -> Headline | None:
    grid = next(iter(results.get("crash", {}).get("grids", ())), None)
    if grid is None:
        return None
    lines = {name: dict(zip(grid["columns"], values, strict=True)) for name, values in grid["lines"].items()}
    ours = [line for name, line in lines.items() if is_ours(name)]
    as_they_are = [name for name in lines if not name.endswith((", keys", ", one attempt"))]
    peers = [lines[name] for name in as_they_are if not is_ours(name)]
    if not ours or not peers:
        return None
    shares = [line["repeated"] / line["kills"] for line in peers if line["kills"]]
    return Headline(
        figure=f"{sum(line['repeated'] + line['forgotten'] for line in ours)}",
        text=f"payments repeated or silently lost in {sum(line['kills'] for line in ours)} kills; "
        f"DBOS, Restate and Temporal as they are repeat after {min(shares):.0%} to {max(shares):.0%} of theirs",
        suite="crash",
    )


def _repair(results: Results) -> Headline | None:
    read = _rows(results, "repair", "spoiled calls with one meaning")
    wrong = _rows(results, "repair", "spoiled calls: run with something else")
    ours = next((row["value"] for row in read if is_ours(row["case"])), None)
    if ours is None or len(wrong) < 2:
        return None
    amiss = {row["case"]: row["value"] for row in wrong}
    peers = [value for case, value in amiss.items() if not is_ours(case)]
    return Headline(
        figure=f"{ours:.2f} %",
        text=f"of spoiled calls with one meaning are read as meant; in 1,000, {amiss['failsoft']:.2g} run with "
        f"something else (peers {min(peers):.0f} to {max(peers):.0f})",
        suite="repair",
    )


def _ratio(suite: str, table: str, case: str, peer: str, text: str) -> Callable[[Results], Headline | None]:
    """A headline from one row's ratio to the floor, and that of the fastest case whose name begins with `peer`."""

    def make(results: Results) -> Headline | None:
        rows = [row for row in _rows(results, suite, table) if "ratio" in row]
        ours = next((row["ratio"] for row in rows if row["case"].startswith(case)), None)
        others = [row["ratio"] for row in rows if row["case"].startswith(peer)]
        if ours is None or not others:
            return None
        return Headline(figure=f"{ours:.2f} ×", text=text.format(best=f"{min(others):.1f}"), suite=suite)

    return make


def _rows(results: Results, suite: str, table: str) -> Rows:
    return [row for row in results.get(suite, {}).get("rows", ()) if row["table"].startswith(table)]


def _recovery(results: Results) -> Headline | None:
    rows = _rows(results, "isolation", "after a body that spins")
    ours = next((row["value"] for row in rows if is_ours(row["case"])), None)
    peers = [row["value"] for row in rows if not is_ours(row["case"]) and "floor" not in row["case"]]
    if ours is None or not peers:
        return None
    return Headline(
        figure=f"{ours:.1f} ms",
        text=f"until a place is usable again after a tool that never ends; pebble: {min(peers):.0f} ms",
        suite="isolation",
    )


_MAKERS: tuple[Callable[[Results], Headline | None], ...] = (
    _exact,
    _twice,
    _crash,
    _repair,
    _ratio(
        "call_path",
        "one call, the body suspends once",
        "failsoft, whole default policy",
        "by hand",
        "of “validate, set a time-out, await” for a call through the whole default policy; "
        "pydantic, tenacity and a breaker by hand: {best} ×",
    ),
    _ratio(
        "ledger",
        "a protected call's two durable writes",
        "failsoft, a whole protected call",
        "DBOS",
        "of the bare store's two synced writes for a call that is never repeated silently; a step of DBOS: {best} ×",
    ),
    _recovery,
    _ratio(
        "mcp",
        "one call of an MCP server",
        "failsoft, looks",
        "fastmcp",
        "of a direct call for one through `failsoft mcp`; FastMCP's proxy: {best} ×",
    ),
)
