"""What the demo shows on a terminal: the steps as they happen, the answer, a table, and the proof."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from failsoft.core.events import EventName

if TYPE_CHECKING:
    from failsoft.agent.outcome import Outcome
    from failsoft.cli.demo.report import Row, Verdict
    from failsoft.core.events import Event

__all__ = ["Screen"]

_SHOWN = {
    EventName.TURN_FINISHED: "cyan",
    EventName.ATTEMPT_FAILED: "yellow",
    EventName.RETRY_SCHEDULED: "yellow",
    EventName.CALL_REFUSED: "yellow",
    EventName.CALL_FAILED: "red",
    EventName.CALL_FINISHED: "green",
    EventName.CALL_REPLAYED: "green",
    EventName.BREAKER_CHANGED: "magenta",
    EventName.DOUBT_OPENED: "red",
    EventName.DOUBT_RESOLVED: "green",
    EventName.FALLBACK_USED: "magenta",
}


class Screen:
    """Prints steps to a console; also a sink for events.

    Args:
        quiet: Show nothing: the result will be printed as JSON.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(quiet=quiet, highlight=False)
        self._began = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Show one event as it happens."""
        style = _SHOWN.get(event.name)
        line = _line(event) if style is not None else ""
        if line:
            passed = f"{time.monotonic() - self._began:5.1f} s"
            self.console.print(f"[dim]{passed}[/dim]  [{style}]{escape(line)}[/{style}]")

    def opening(self, question: str, model: str, chaos: float, seed: int) -> None:
        """Say what will happen, and what the model is."""
        self.console.print(f"[bold]Task[/bold]   {escape(question)}")
        self.console.print(f"[bold]Model[/bold]  {escape(model)}")
        self.console.print(f"[bold]Chaos[/bold]  {chaos:g} of all requests fail, seed {seed}\n")

    def closing(self, outcome: Outcome, rows: list[Row], verdict: Verdict) -> None:
        """The answer, the table and the proof."""
        self.console.print(f"\n[bold]Answer[/bold]\n{escape(outcome.text or outcome.summary())}\n")
        self.console.print(_table(rows))
        self.console.print(
            f"\n[bold]Proof[/bold], read from the database and the outbox ({outcome.stop_reason}):"
        )
        for word in verdict.actual:
            doubt = f", {verdict.in_doubt[word]} in doubt" if verdict.in_doubt[word] else ""
            self.console.print(
                f"  {word}: {verdict.actual[word]} happened, {verdict.reported[word]} reported{doubt}"
            )
        for act in verdict.twice:
            self.console.print(f"  [red]happened twice: {escape(act)}[/red]")
        good = "[green]Each effect that was reported happened exactly once.[/green]"
        self.console.print(
            f"  {good if verdict.honest else '[red]The report does not fit what happened.[/red]'}"
        )


def _line(event: Event) -> str:
    data = event.data
    tool = event.tool or "model"
    match event.name:
        case EventName.TURN_FINISHED:
            calls = data.get("calls", 0)
            return f"model asks for {calls} call{'s' if calls != 1 else ''}" if calls else "model answers"
        case EventName.ATTEMPT_FAILED:
            return f"  {tool}: attempt {event.attempt} failed: {data.get('message')}"
        case EventName.RETRY_SCHEDULED:
            return f"  {tool}: next attempt in {data.get('wait_s', 0):.1f} s"
        case EventName.CALL_REFUSED:
            return f"  {tool}: not run: {data.get('message')}"
        case EventName.CALL_FAILED:
            return f"  {tool}: {data.get('kind')}, effect {data.get('effect')}"
        case EventName.CALL_FINISHED:
            return f"  {tool}: done in {data.get('duration_s', 0):.2f} s, attempt {event.attempt}"
        case EventName.CALL_REPLAYED:
            return f"  {tool}: already done, recorded result given again"
        case EventName.BREAKER_CHANGED:
            return f"  {tool}: breaker {data.get('before')} -> {data.get('after')}"
        case EventName.DOUBT_OPENED:
            return f"  {tool}: may have happened; in doubt, not repeated"
        case EventName.DOUBT_RESOLVED:
            return f"  {tool}: doubt resolved by the {data.get('by')}: {'happened' if data.get('happened') else 'did not happen'}"
        case _:
            return f"  {tool}: {event.name.replace('_', ' ')}"


def _table(rows: list[Row]) -> Table:
    table = Table(
        "tool", "calls", "attempts", "what failed", "what was done about it", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(row.tool, str(row.calls), str(row.attempts), row.failed, row.done)
    return table
