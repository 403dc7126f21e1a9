"""`failsoft lab`: experiments."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from failsoft.cli.output import json_option, note, print_json, print_table
from failsoft.core.errors import UsageError
from failsoft.lab.storm import STRATEGIES, Storm, run_storm

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.lab.storm import StormRun

__all__ = ["command"]

_DEFAULT = Storm()
_COLUMNS = (
    "strategy",
    "calls",
    "requests",
    "amplification",
    "at worst",
    "peak load",
    "in time",
    "lost",
    "recovers after",
)


@click.group("lab")
def command() -> None:
    """Experiments: what policies do to a service in trouble."""


@command.command("storm")
@click.option("--clients", type=click.IntRange(min=1), default=_DEFAULT.clients, show_default=True)
@click.option(
    "--minutes", type=float, default=_DEFAULT.minutes, show_default=True, help="Simulated, not waited for."
)
@click.option("--seed", type=int, default=_DEFAULT.seed, show_default=True)
@click.option(
    "--load",
    type=float,
    default=_DEFAULT.load,
    show_default=True,
    help="What the clients need of the capacity when nothing fails.",
)
@click.option("--outage", "outage_s", type=float, help="Seconds; default a tenth of the time.")
@click.option(
    "--svg", type=click.Path(path_type=Path, dir_okay=False), help="Draw it; needs 'failsoft[lab]'."
)
@json_option
def storm(
    clients: int,
    minutes: float,
    seed: int,
    load: float,
    outage_s: float | None,
    svg: Path | None,
    as_json: bool,
) -> int:
    """Simulate an outage with six ways to retry, from none to the runtime's defaults.

    Clients that retry can keep a service down after its outage is over: it works on requests whose senders have given
    up. Amplification is requests for a call; "recovers after" counts from the end of the outage.
    """
    setup = replace(_DEFAULT, clients=clients, minutes=minutes, seed=seed, load=load, outage_s=outage_s)
    plot = None if svg is None else _plotter(svg)  # before minutes of work, not after
    runs = []
    for number, strategy in enumerate(STRATEGIES, 1):
        if sys.stderr.isatty():
            note(f"{number}/{len(STRATEGIES)} {strategy.name}")
        runs.append(run_storm(setup, strategy))
    if svg is not None and plot is not None:
        plot(setup, runs, svg)
        note(f"drawn to {svg}")
    _show(setup, runs, as_json)
    return 0


def _plotter(svg: Path) -> Callable[[Storm, list[StormRun], Path], None]:
    if svg.suffix != ".svg":
        raise UsageError(f"--svg takes a file that ends in .svg, got {str(svg)!r}")
    from failsoft.lab.storm.matplotlib import plot_storm

    return plot_storm


def _show(setup: Storm, runs: list[StormRun], as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "v": 1,
                "clients": setup.clients,
                "seconds": setup.seconds,
                "seed": setup.seed,
                "capacity_per_s": setup.capacity,
                "outage_from_s": setup.down_from_s,
                "outage_until_s": setup.down_until_s,
                "runs": [run.as_dict() for run in runs],
            }
        )
        return
    print_table(_COLUMNS, [_row(run) for run in runs])
    note(
        f"{setup.clients:,} clients, {setup.capacity:g} requests/s, outage from {setup.down_from_s:g} s "
        f"to {setup.down_until_s:g} s of {setup.seconds} s"
    )


def _row(run: StormRun) -> tuple[str, ...]:
    return (
        run.strategy,
        f"{run.calls:,}",
        f"{run.attempts:,}",
        f"×{run.amplification:.2f}",
        f"×{run.peak_amplification:.2f}",
        f"{run.peak_load:.0%}",
        f"{run.success_rate:.1%}",
        f"{run.calls - run.succeeded:,}",
        "never" if run.recovery_s is None else f"{run.recovery_s} s",
    )
