"""How commands print: JSON for programs, tables for people, and no text of a tool that can command a terminal."""

from __future__ import annotations

import datetime
import json
import sys
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from failsoft.feedback import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["clean", "json_option", "moment", "note", "plain", "print_json", "print_table", "seconds"]

_PIPED_WIDTH = 200
_REDACTOR = Redactor()


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`, for every command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text for people.")(
        command
    )


def print_json(data: Any) -> None:
    """One JSON document on one line."""
    click.echo(json.dumps(data, ensure_ascii=False, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table without lines; a reader that is no terminal gets it wide, so that ids stay whole."""
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False).print(table)


def note(text: str) -> None:
    """A line for people beside the data: on stderr."""
    click.echo(text, err=True)


def clean(value: Any) -> Any:
    """A stored value without secrets, for an operator's eyes; what the ledger keeps is exact."""
    return _REDACTOR.value(value, "operator")


def plain(value: Any) -> str:
    """One line of printable text: what tools and models write may hold a terminal's control codes."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return "".join(char if char.isprintable() else " " if char.isspace() else "�" for char in text)


def moment(epoch_s: float | None) -> str:
    """A wall time in UTC, to the second."""
    if epoch_s is None:
        return "–"
    return datetime.datetime.fromtimestamp(epoch_s, datetime.UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def seconds(duration_s: float | None) -> str:
    """A duration in the unit that fits."""
    if duration_s is None:
        return "–"
    if duration_s < 1:
        return f"{duration_s * 1000:.3g} ms"
    if duration_s < 120:
        return f"{duration_s:.3g} s"
    minutes, rest_s = divmod(round(duration_s), 60)
    return f"{minutes} min {rest_s} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
