"""Bars for one table, as SVG that takes its colours from the page: light or dark, without a script.

Drawn by matplotlib. Words stay text, and each colour that is drawn stands for a variable of the page's style.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any

__all__ = ["bars", "curves"]

# Drawn colours that stand for variables of the page; unlikely values, so that nothing else is replaced.
INK, QUIET, OURS, PEER = "#010203", "#040506", "#070809", "#0a0b0c"
LINES = ("#070809", "#111213", "#141516", "#171819", "#1a1b1c", "#1d1e1f", "#202122")
_VARIABLES = {INK: "ink", QUIET: "quiet", OURS: "ours", PEER: "peer"} | {
    colour: f"line{number}" for number, colour in enumerate(LINES) if number
}
_WIDTH_IN = 8.2


def bars(rows: list[dict[str, Any]], alt: str) -> str:
    """One bar for each row: its ratio to the floor, or its value where there is no floor."""
    field = "ratio" if all("ratio" in row for row in rows) else "value"
    rows = list(reversed(rows))
    values = [max(row[field], 1e-9) for row in rows]
    figure, axes = _figure(0.42 + 0.27 * len(rows))
    is_wide = max(values) / min(values) > 30
    colours = [OURS if _is_ours(row["case"]) else PEER for row in rows]
    errors = [value * row.get("noise", 0.0) for value, row in zip(values, rows, strict=True)]
    axes.barh(range(len(rows)), values, color=colours, height=0.68, xerr=errors, ecolor=INK, capsize=2)
    axes.set_yticks(range(len(rows)), [_short(row["case"]) for row in rows])
    if is_wide:
        axes.set_xscale("log")
        low = 10 ** math.floor(math.log10(min(values)) - 0.2)
        axes.set_xlim(low, max(values) * 4)
    else:
        axes.set_xlim(0, max(values) * 1.16)
    for at, (value, error) in enumerate(zip(values, errors, strict=True)):
        place = (value + error, at)
        axes.annotate(
            _number(value),
            place,
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=8,
        )
    if field == "ratio":
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set_xlabel(f"times the floor: {rows[0]['floor']}" + (", logarithmic" if is_wide else ""))
    else:
        axes.set_xlabel(rows[0]["unit"] + (", logarithmic" if is_wide else ""))
    return _svg(figure, alt)


def curves(lines: dict[str, list[tuple[float, float]]], x: str, y: str, alt: str) -> str:
    """One line for each name; the first is drawn on top."""
    figure, axes = _figure(3.4)
    for number, (name, points) in reversed(list(enumerate(lines.items()))):
        xs, ys = zip(*points, strict=True)
        # Lines that lie on each other stay to be seen: dashes of different lengths below the first, solid one.
        width, dashes = (2.4, "solid") if number == 0 else (1.6, (number * 2, (3 + 2 * number, 2)))
        axes.plot(
            xs,
            ys,
            color=LINES[number % len(LINES)],
            linewidth=width,
            linestyle=dashes,
            marker="o",
            markersize=4,
            label=name,
        )
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1],
        labels[::-1],
        frameon=False,
        labelcolor=INK,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
    )
    return _svg(figure, alt)


def _figure(height_in: float) -> tuple[Any, Any]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "failsoft", "font.size": 9})
    mpl.rcParams["font.family"] = "sans-serif"
    figure = Figure(figsize=(_WIDTH_IN, height_in + 0.5), layout="constrained")
    axes = figure.add_subplot()
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(QUIET)
    axes.tick_params(colors=INK, which="both", length=3)
    axes.grid(axis="x", color=QUIET, linewidth=0.4, alpha=0.5)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def _svg(figure: Any, alt: str) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    # Matplotlib names its own font first, which no reader has; the page's fits better.
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--font)", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{_quoted(alt)}" ', 1)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _is_ours(case: str) -> bool:
    return case.startswith("failsoft") or "failsoft" in case.split(" ")


def _short(case: str) -> str:
    return case if len(case) <= 52 else case[:50] + "…"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
