"""The counts over time, as SVG where matplotlib is there, and as lines of text."""

from __future__ import annotations

from pathlib import Path

from tests.soak.census import Census

__all__ = ["draw", "sparks"]

_SHOWN = ("processes", "threads", "descriptors", "memory_mb", "zombies", "in_flight")
_LEVELS = "▁▂▃▄▅▆▇█"


def sparks(counts: list[Census], width: int = 60) -> list[str]:
    """One line for each count: its course, its least and its most."""
    lines = []
    for name in _SHOWN:
        values = [float(getattr(each, name)) for each in counts]
        if not values:
            continue
        low, high = min(values), max(values)
        picked = [values[i * len(values) // width] for i in range(width)] if len(values) > width else values
        scale = (len(_LEVELS) - 1) / (high - low) if high > low else 0.0
        course = "".join(_LEVELS[round((value - low) * scale)] for value in picked)
        lines.append(f"{name:12} {course} {low:g}-{high:g}")
    return lines


def draw(counts: list[Census], path: Path) -> bool:
    """Write the chart; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(8, 9), layout="constrained")
    rows = figure.subplots(len(_SHOWN), 1, sharex=True)
    for axes, name in zip(rows, _SHOWN, strict=True):
        axes.plot([each.at_s for each in counts], [getattr(each, name) for each in counts], linewidth=1)
        axes.set_ylabel(name.replace("_", " "))
        axes.set_ylim(bottom=0)
    rows[-1].set_xlabel("seconds")
    figure.savefig(path, format="svg")
    return True
