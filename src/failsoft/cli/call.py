"""`failsoft call`: run one tool through the whole path."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.loading import load_harness

if TYPE_CHECKING:
    from failsoft.core.results import ToolResult

__all__ = ["command"]


@click.command("call")
@click.argument("target", metavar="MODULE[:HARNESS_OR_TOOL]")
@click.argument("name")
@click.argument("arguments", default="")
@click.option("--role", "roles", multiple=True, help="What the caller may do; can be given more than once.")
@click.option("--approved", is_flag=True, help="A person has approved this call.")
@click.option(
    "--deadline",
    "deadline_s",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds until there must be a result.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything about the result as JSON.")
def command(
    target: str,
    name: str,
    arguments: str,
    roles: tuple[str, ...],
    approved: bool,
    deadline_s: float | None,
    as_json: bool,
) -> int:
    """Run the tool NAME with ARGUMENTS (JSON, `-` for standard input) and print what a model would read."""
    harness = load_harness(target)
    text = sys.stdin.read() if arguments == "-" else arguments
    result = harness.call_sync(name, text, roles=roles, approved=approved, deadline_s=deadline_s)
    click.echo(json.dumps(_as_data(result), ensure_ascii=False, default=str) if as_json else result.content)
    harness.close_sync()
    return 0 if result.ok else 1


def _as_data(result: ToolResult) -> dict[str, Any]:
    error = result.error
    return {
        "ok": result.ok,
        "content": result.content,
        "attempts": result.attempts,
        "duration_s": round(result.duration_s, 6),
        "degraded_by": result.degraded_by,
        "replayed": result.replayed,
        "late": result.late,
        "doubt": result.doubt,
        "repairs": [
            {"rule": repair.rule, "field": repair.field, "detail": repair.detail} for repair in result.repairs
        ],
        "error": None
        if error is None
        else {
            "kind": str(error.kind),
            "reason": error.reason,
            "message": error.message,
            "retryable": error.retryable,
            "effect": str(error.effect),
            "retry_after_s": error.retry_after_s,
            "owner": str(error.owner),
        },
    }
