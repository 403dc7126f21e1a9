"""`failsoft serve`: a harness's own tools as an MCP server."""

from __future__ import annotations

import asyncio
import logging
import sys

import click

from failsoft.adapters.mcp.running import serve_stdio
from failsoft.cli.loading import load_harness

__all__ = ["command"]


@click.command("serve")
@click.argument("target", metavar="MODULE[:HARNESS_OR_TOOL]")
@click.option("--name", help="What the server calls itself; default the harness's name.")
@click.option("-v", "--verbose", is_flag=True, help="Log each call on standard error.")
def command(target: str, name: str | None, verbose: bool) -> int:
    """Serve the tools of MODULE to an MCP client on standard input and output."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING, format="failsoft: %(message)s"
    )
    harness = load_harness(target)
    return 0 if asyncio.run(serve_stdio(harness, name=name)) else 130
