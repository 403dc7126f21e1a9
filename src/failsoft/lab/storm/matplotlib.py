"""Storms as pictures, in SVG. Needs `failsoft[lab]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
except ImportError as exc:
    raise UsageError("a plot needs matplotlib\n\nhint: pip install 'failsoft[lab]'") from exc

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from failsoft.lab.storm.experiment import Storm, StormRun

__all__ = ["plot_storm"]

# Told apart also by those who do not see red and green (Okabe and Ito).
_OFFERED, _GOOD, _CAPACITY = "#d55e00", "#0072b2", "#444444"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "failsoft",  # the same runs make the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_SMOOTH_S = 5


def plot_storm(storm: Storm, runs: Sequence[StormRun], file: Path) -> None:
    """Draw offered load and goodput over time, one panel for each strategy.

    The ending of the file's name says the format; `.svg` as a rule.
    """
    rows = -(-len(runs) // 2)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10, 2.3 * rows + 0.8), layout="constrained")
        panels = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
        top = 1.08 * max(max(_smooth(run.offered)) for run in runs)
        for axes, run in zip(panels.flat, runs, strict=False):
            _draw(axes, storm, run, top)
        for axes in list(panels.flat)[len(runs) :]:
            axes.set_axis_off()
        for axes in panels[-1]:
            axes.set_xlabel("minutes")
        for axes in panels[:, 0]:
            axes.set_ylabel("requests / s")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)


def _draw(axes: Axes, storm: Storm, run: StormRun, top: float) -> None:
    minutes = [second / 60 for second in range(len(run.offered))]
    offered, good = _smooth(run.offered), _smooth(run.good)
    axes.axvspan(
        storm.down_from_s / 60, storm.down_until_s / 60, color="#000000", alpha=0.08, lw=0, label="outage"
    )
    axes.axhline(storm.capacity, color=_CAPACITY, lw=1, ls="--", label="capacity")
    axes.fill_between(minutes, good, color=_GOOD, alpha=0.25, lw=0)
    axes.plot(minutes, good, color=_GOOD, lw=1.2, label="answered in time")
    axes.plot(minutes, offered, color=_OFFERED, lw=1.2, label="offered")
    axes.set_ylim(0, top)
    axes.set_xlim(0, minutes[-1])
    recovery = "never recovers" if run.recovery_s is None else f"recovers after {run.recovery_s} s"
    title = f"{run.strategy}: {run.amplification:.2f} requests for a call, {recovery}"
    axes.set_title(title, fontsize=9, loc="left")


def _smooth(series: list[int]) -> list[float]:
    """Means over five seconds: single seconds are noise."""
    half = _SMOOTH_S // 2
    slices = (series[max(0, i - half) : i + half + 1] for i in range(len(series)))
    return [sum(part) / len(part) for part in slices]
