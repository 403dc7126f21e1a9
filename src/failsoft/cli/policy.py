"""`failsoft policy`: what holds for each tool, and where each part of it was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.loading import load_harness
from failsoft.cli.output import json_option, note, plain, print_json, print_table
from failsoft.core.annotations import Standing
from failsoft.harness.builtins import BUILTIN_NAMES
from failsoft.harness.settings import load_settings
from failsoft.policies import DEFAULTS, resolve_layers, stack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.policies import EffectivePolicy
    from failsoft.tools import Tool

__all__ = ["command"]


@click.command("policy")
@click.argument("target", metavar="[MODULE[:HARNESS_OR_TOOL]]", required=False)
@click.argument("names", metavar="[TOOL]...", nargs=-1)
@click.option("--nesting", is_flag=True, help="Print how the policies of each tool nest.")
@json_option
def command(target: str | None, names: tuple[str, ...], nesting: bool, as_json: bool) -> int:
    """Print the policy of each TOOL of MODULE, and for each part whether it comes from code, a file or the defaults.

    Without MODULE: what holds here for a tool about which nobody has said anything.
    """
    shown = _here() if target is None else _of(target, names)
    settings = load_settings()
    if as_json:
        print_json({"file": settings.file and str(settings.file), "tools": shown})
        return 0
    if settings.file is not None:
        note(f"file: {settings.file}")
    for index, (name, data) in enumerate(shown.items()):
        click.echo(f"{chr(10) if index else ''}{plain(name)} ({data['standing']})")
        if nesting:
            click.echo(data["described"])
        else:
            rows = [
                (f"  {part}", _words(value), data["origin"][part]) for part, value in data["policy"].items()
            ]
            print_table(("  part", "value", "from"), rows)
        for hint in data["hints"]:
            click.echo(f"  hint: {plain(hint)}")
    return 0


def _here() -> dict[str, Any]:
    layers = (("default", DEFAULTS), ("file", load_settings().policy))
    return {
        f"any {standing} tool": _data(resolve_layers(layers, standing=standing), standing, ())
        for standing in (Standing.REPEATABLE, Standing.PROTECTED)
    }


def _of(target: str, names: tuple[str, ...]) -> dict[str, Any]:
    harness = load_harness(target)
    tools = {
        tool.name: tool for tool in harness.tools if tool.name not in BUILTIN_NAMES or tool.name in names
    }
    for name in names:
        if name not in tools:
            raise click.BadParameter(
                f"there is no tool {name!r}; tools: {', '.join(tools)}", param_hint="TOOL"
            )
    policies = harness.policies()
    return {
        name: _data(policies[name], tool.standing, stack.check(policies[name], _facts(tool)))
        for name, tool in tools.items()
        if not names or name in names
    }


def _facts(tool: Tool[..., Any]) -> stack.ToolFacts:
    streams = tool.is_generator or tool.is_async_generator
    return stack.ToolFacts(name=tool.name, annotations=tool.annotations, streams=streams)


def _data(policy: EffectivePolicy, standing: Standing, hints: tuple[str, ...]) -> dict[str, Any]:
    return {
        "standing": str(standing),
        "policy": policy.to_mapping(),
        "origin": dict(policy.origin),
        "nesting": list(stack.nesting(policy)),
        "described": stack.describe(policy),
        "hints": list(hints),
    }


def _words(value: Any) -> str:
    """The options of a part in one line; what is off or empty is left out."""
    if value is None:
        return "off"
    if not isinstance(value, dict):
        return plain(value)
    return ", ".join(
        f"{name}={_short(item)}" for name, item in value.items() if item not in (None, {}, [], "")
    )


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return "{" + _mapping(value) + "}"
    return plain(value)


def _mapping(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {_short(item)}" for name, item in value.items())
