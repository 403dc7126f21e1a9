"""`failsoft explain`: what an error means, to the scheduler, to the model and to an operator."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from failsoft.classify import classify_text
from failsoft.cli.output import clean, json_option, note, print_json
from failsoft.core.calls import ToolCall
from failsoft.feedback import Feedback, operator_lines, operator_view

if TYPE_CHECKING:
    from failsoft.core.errors import AgentError

__all__ = ["command"]

_MOST_CHARS = 1_000_000


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option(
    "--method",
    metavar="VERB",
    help="The HTTP method of the request that failed; a failed POST may have acted.",
)
@click.option(
    "--tool",
    "tool_name",
    metavar="NAME",
    default="the_tool",
    show_default=True,
    help="The name in the model's view.",
)
@click.option(
    "--style",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    help="Of the model's view.",
)
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Of the model's view.",
)
@json_option
def command(
    words: tuple[str, ...], method: str | None, tool_name: str, style: str, language: str, as_json: bool
) -> int:
    """Say what TEXT means: an exception's text, a traceback, an HTTP response with its status line, or an error body.

    Without TEXT, or with `-`, it is read from standard input.
    """
    text = " ".join(words) if words and words != ("-",) else _piped()
    if not text.strip():
        raise click.UsageError("there is nothing to explain; give a text, or pipe one in")
    error = classify_text(text, method=method)
    if error is None:
        print_json(None) if as_json else click.echo("This is no error.")
        return 0
    feedback = Feedback(
        style=cast("Literal['json', 'text']", style), language=cast("Literal['en', 'zh']", language)
    )
    told = feedback.render(error, call=ToolCall("call_1", tool_name, None))
    views = {"scheduler": _scheduler(error), "model": told, "operator": operator_view(error)}
    if as_json:
        print_json(views)
    else:
        _print(views)
    return 0


def _piped() -> str:
    if sys.stdin.isatty():
        note("paste the error, then press Ctrl-D")
    text = sys.stdin.read(_MOST_CHARS + 1)
    if len(text) > _MOST_CHARS:
        note(f"only the first {_MOST_CHARS:,} characters are read")
    return text[:_MOST_CHARS]


def _scheduler(error: AgentError) -> dict[str, Any]:
    fields: dict[str, Any] = clean(error.fields())
    return {name: value for name, value in fields.items() if name not in ("message", "suggestion", "context")}


def _print(views: dict[str, Any]) -> None:
    click.echo("For the scheduler")
    for name, value in views["scheduler"].items():
        if value is not None:
            click.echo(f"  {name}: {value}")
    click.echo("\nFor the model")
    for line in views["model"].splitlines():
        click.echo(f"  {line}")
    click.echo("\nFor an operator")
    for line in operator_lines(views["operator"]):
        click.echo(f"  {line}")
