"""`failsoft check`: a linter for tool definitions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from failsoft.cli.loading import load_tools
from failsoft.cli.output import json_option, note, plain, print_json
from failsoft.harness.builtins import BUILTIN_NAMES
from failsoft.tools.dialects import DIALECTS
from failsoft.tools.lint import RULES, Finding, lint

__all__ = ["command"]

_SEVERITIES = ("error", "warning", "info")
_BEYOND = ("provider_name", "provider_schema", "similar_names")
_DEFAULT_DIALECTS = ("anthropic", "openai", "lenient")


@click.command("check")
@click.argument("targets", metavar="MODULE[:HARNESS_OR_TOOL]...", nargs=-1, required=True)
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    type=click.Choice(list(DIALECTS)),
    help=f"A provider that will be told of the tools; can be given more than once. Default: {', '.join(_DEFAULT_DIALECTS)}.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*_SEVERITIES, "never"]),
    default="warning",
    show_default=True,
    help="The least severity that ends with exit code 1.",
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="RULE",
    help="A rule to leave out; can be given more than once.",
)
@json_option
def command(
    targets: tuple[str, ...], dialects: tuple[str, ...], fail_on: str, ignored: tuple[str, ...], as_json: bool
) -> int:
    """Look at the tools of each MODULE the way a model, a provider and the runtime will.

    Ends with 0 where nothing is wrong, with 1 where something is.
    """
    known = [*RULES, *_BEYOND]
    for rule in ignored:
        if rule not in known:
            raise click.BadParameter(
                f"there is no rule {rule!r}; rules: {', '.join(known)}", param_hint="--ignore"
            )
    tools = {id(tool): tool for target in targets for tool in load_tools(target)}
    own = [tool for tool in tools.values() if tool.name not in BUILTIN_NAMES]
    found = [item for item in lint(own, dialects=dialects or _DEFAULT_DIALECTS) if item.rule not in ignored]
    if as_json:
        print_json([asdict(item) for item in found])
    else:
        _print(found, len(own))
    failing = () if fail_on == "never" else _SEVERITIES[: _SEVERITIES.index(fail_on) + 1]
    return int(any(item.severity in failing for item in found))


def _print(found: list[Finding], tool_count: int) -> None:
    for item in found:
        click.echo(f"{plain(item.tool)}: {item.severity}: {plain(item.message)} [{item.rule}]")
        click.echo(f"    {plain(item.hint)}")
    counts: dict[str, Any] = {word: sum(item.severity == word for item in found) for word in _SEVERITIES}
    tally = ", ".join(
        f"{count} {word}{'s' if count != 1 and word != 'info' else ''}" for word, count in counts.items()
    )
    note(f"{tool_count} tool{'s' if tool_count != 1 else ''}: {tally}")
