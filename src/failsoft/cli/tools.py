"""`failsoft tools`: what a module offers to a model."""

from __future__ import annotations

import json
from typing import Any

import click

from failsoft.cli.loading import load_tools
from failsoft.cli.output import json_option, print_json, print_table
from failsoft.tools import Tool
from failsoft.tools.dialects import DIALECTS

__all__ = ["command"]


@click.command("tools")
@click.argument("target", metavar="MODULE[:HARNESS_OR_TOOL]")
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    help="Print the tool list as this provider wants it, as JSON.",
)
@json_option
def command(target: str, dialect: str | None, as_json: bool) -> int:
    """List the tools of MODULE: effects, isolation and parameters."""
    tools = load_tools(target)
    if dialect is not None:
        schemas = [DIALECTS[dialect].schema_of(tool) for tool in tools]
        click.echo(json.dumps(schemas, indent=2, ensure_ascii=False))
        return 0
    rows = [_row(tool) for tool in tools]
    if as_json:
        print_json(rows)
        return 0
    cells = [
        (
            row["name"],
            row["standing"],
            row["isolation"],
            ", ".join(row["parameters"]),
            row["description"].split("\n")[0],
        )
        for row in rows
    ]
    print_table(("tool", "effects", "isolation", "parameters", "description"), cells)
    return 0


def _row(tool: Tool[..., Any]) -> dict[str, Any]:
    effects = tool.annotations
    return {
        "name": tool.name,
        "standing": str(tool.standing),
        "read_only": effects.read_only,
        "idempotent": effects.idempotent,
        "destructive": effects.destructive,
        "open_world": effects.open_world,
        "isolation": _isolation(tool),
        "parameters": list(tool.schema.get("properties", {})),
        "description": tool.description,
    }


def _isolation(tool: Tool[..., Any]) -> str:
    """Where the body runs, `auto` told as what it comes to."""
    if tool.isolation != "auto":
        return tool.isolation
    return "inline" if tool.is_async or tool.is_async_generator else "thread"
