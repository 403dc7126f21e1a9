"""`failsoft call`: run one tool through the whole path."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click

from failsoft.cli.loading import load_harness
from failsoft.cli.output import json_option, print_json
from failsoft.core.kinds import ErrorKind, Owner
from failsoft.harness.interrupts import graceful

if TYPE_CHECKING:
    from failsoft.core.results import ToolResult
    from failsoft.harness.harness import Harness
    from failsoft.harness.options import CallOptions

__all__ = ["command"]

_UNAPPROVED = "approval_required"


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
@json_option
def command(
    target: str,
    name: str,
    arguments: str,
    roles: tuple[str, ...],
    approved: bool,
    deadline_s: float | None,
    as_json: bool,
) -> int:
    """Run the tool NAME with ARGUMENTS (JSON, `-` for standard input) and print what a model would read.

    Ends with 3 where a person has to say something first: an approval, or what became of an earlier call.
    """
    harness = load_harness(target)
    text = sys.stdin.read() if arguments == "-" else arguments
    options: CallOptions = {"roles": roles, "approved": approved, "deadline_s": deadline_s}
    result = asyncio.run(_call(harness, name, text, options))
    content = result.content
    if as_json:
        print_json(_as_data(result))
    else:
        click.echo(content) if isinstance(content, str) else print_json(content)
    return 0 if result.ok else 3 if _waits_for_a_person(result) else 1


async def _call(harness: Harness, name: str, text: str, options: CallOptions) -> ToolResult:
    """The result, also where Ctrl-C came and the call ended within the grace; its content is made while the store is open."""
    async with harness, graceful(harness):
        result = await harness.call(name, text, **options)
        _ = result.content
        return result


def _waits_for_a_person(result: ToolResult) -> bool:
    """Whether the same call could go on after a word of a person's: an approval, or what became of a doubt."""
    error = result.error
    return error is not None and (
        error.reason == _UNAPPROVED or (error.kind is ErrorKind.IN_DOUBT and error.owner is Owner.HUMAN)
    )


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
