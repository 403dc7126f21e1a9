"""`failsoft tools`: what a module offers to a model."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from failsoft.cli.loading import load_tools
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
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def command(target: str, dialect: str | None, as_json: bool) -> int:
    """List the tools of MODULE: effects, isolation and parameters."""
    tools = load_tools(target)
    if dialect is not None:
        click.echo(
            json.dumps([DIALECTS[dialect].schema_of(tool) for tool in tools], indent=2, ensure_ascii=False)
        )
        return 0
    rows = [_row(tool) for tool in tools]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return 0
    table = Table("tool", "effects", "parameters", "description", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row["name"], row["standing"], ", ".join(row["parameters"]), row["description"].split("\n")[0]
        )
    Console().print(table)
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
        "parameters": list(tool.schema.get("properties", {})),
        "description": tool.description,
    }
