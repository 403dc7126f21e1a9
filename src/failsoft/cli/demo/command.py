"""`failsoft demo`: an agent finishes real work although its tools fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from failsoft.cli.demo.planner import DEFAULT_QUESTION

__all__ = ["command"]


@click.command("demo")
@click.argument("question", default=DEFAULT_QUESTION)
@click.option(
    "--chaos",
    type=click.FloatRange(0, 1),
    default=0.35,
    show_default=True,
    help="Share of requests that fail.",
)
@click.option("--seed", type=int, default=7, show_default=True, help="Of the schedule of faults.")
@click.option(
    "--model", help="A real model's name. Default: a stand-in, or claude-sonnet-5-5 with ANTHROPIC_API_KEY."
)
@click.option("--base-url", help="An endpoint that speaks the Messages API.")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Keep the world in this new folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the screen.")
def command(
    question: str,
    chaos: float,
    seed: int,
    model: str | None,
    base_url: str | None,
    keep: Path | None,
    as_json: bool,
) -> int:
    """Let an agent work at an order desk whose services fail.

    QUESTION is the task; the default one refunds a broken order and writes to the customer.
    """
    from failsoft.cli.demo.running import DemoOptions, run_demo
    from failsoft.cli.demo.screen import Screen

    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"--keep wants a new or empty folder, and {keep} has something in it")
    if model is None and (base_url or os.environ.get("ANTHROPIC_API_KEY")):
        model = "claude-sonnet-5-5"
    screen = Screen(quiet=as_json)
    data = run_demo(
        DemoOptions(question=question, chaos=chaos, seed=seed, model=model, base_url=base_url, keep=keep),
        screen,
    )
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False))
    return 0 if data["done"] and data["honest"] else 1
