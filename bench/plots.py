"""Bars for one table, as SVG that takes its colours from the page: light or dark, without a script.

Drawn by matplotlib. Words stay text, and each colour that is drawn stands for a variable of the page's style.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any

from bench.words import is_ours

__all__ = ["bars", "curves", "standalone"]

# Drawn colours that stand for variables of the page; unlikely values, so that nothing else is replaced.
INK, QUIET, OURS, PEER = "#010203", "#040506", "#070809", "#0a0b0c"
LINES = (OURS, *(f"#1{digit}1{digit}1{digit}" for digit in range(1, 10)))
_VARIABLES = {INK: "ink", QUIET: "quiet", OURS: "ours", PEER: "peer"} | {
    colour: f"line{number}" for number, colour in enumerate(LINES) if number
}
_MARKS = "osD^vPX*ph"
_WIDTH_IN = 8.2
_LINES_WIDTH_IN = 6.6
# What varies by more than this is drawn on a logarithmic axis.
_WIDE = 30


def bars(rows: list[dict[str, Any]], alt: str) -> str:
    """One bar for each row: its ratio to the floor, or its value where there is no floor."""
    field = "ratio" if all("ratio" in row for row in rows) else "value"
    rows = list(reversed(rows))
    values = [row[field] for row in rows]
    figure, axes = _figure(0.42 + 0.27 * len(rows), grid="x")
    axes.barh(
        range(len(rows)), values, color=[OURS if is_ours(row["case"]) else PEER for row in rows], height=0.68
    )
    axes.set_yticks(range(len(rows)), [_short(row["case"]) for row in rows])
    axes.tick_params(axis="y", length=0)
    is_wide = min(values) > 0 and max(values) / min(values) > _WIDE
    errors = [value * min(row.get("noise", 0.0), 0.95) for value, row in zip(values, rows, strict=True)]
    furthest = max(value + error for value, error in zip(values, errors, strict=True))
    if is_wide:
        axes.set_xscale("log")
        axes.set_xlim(10 ** math.floor(math.log10(min(values)) - 0.2), furthest * 4)
    else:
        axes.set_xlim(0, furthest * 1.16 or 1.0)
    for at, (value, error) in enumerate(zip(values, errors, strict=True)):
        if error > value * 0.01:
            axes.errorbar(value, at, xerr=error, ecolor=INK, elinewidth=0.9, capsize=2, fmt="none")
        _label(axes, _number(value), value + error, at)
    if field == "ratio":
        axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        label = f"times the floor: {rows[0]['floor'].removeprefix('floor: ')}"
    else:
        label = rows[0]["unit"]
    axes.set_xlabel(label + (", logarithmic" if is_wide else ""))
    return _svg(figure, alt)


def _label(axes: Any, text: str, x: float, y: float) -> None:
    place = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (x, y), color=INK, fontsize=8, **place)


def curves(
    lines: dict[str, list[tuple[float, float]]], x: str, y: str, alt: str, *, is_log: bool = False
) -> str:
    """One line for each name; the first is drawn on top. With `is_log` x is logarithmic, and y begins at 0."""
    figure, axes = _figure(3.0 + 0.1 * len(lines), grid="y", width_in=_LINES_WIDTH_IN)
    for number, (name, points) in reversed(list(enumerate(lines.items()))):
        xs, ys = zip(*points, strict=True)
        # Lines that lie on each other stay to be seen: dashes of different lengths below the first, solid one.
        width, dashes = (2.4, "solid") if number == 0 else (1.4, (number * 2, (3 + number, 2)))
        axes.plot(
            xs,
            ys,
            color=LINES[number % len(LINES)],
            linewidth=width,
            linestyle=dashes,
            marker=_MARKS[number % len(_MARKS)],
            markersize=4,
            label=name,
        )
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    _set_height(axes, [value for points in lines.values() for _, value in points], is_share="%" in alt)
    if is_log:
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylim(0, max(2.0, axes.get_ylim()[1]))
    handles, labels = axes.get_legend_handles_labels()
    # In the order of the lines' ends, so that the legend can be read beside them.
    last = {name: points[-1][1] for name, points in lines.items()}
    order = sorted(range(len(labels)), key=lambda at: -last[labels[at]])
    axes.legend(
        [handles[at] for at in order],
        [labels[at] for at in order],
        frameon=False,
        labelcolor=INK,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=2,
    )
    return _svg(figure, alt)


def _set_height(axes: Any, values: list[float], is_share: bool) -> None:
    """From nothing, unless all values are far from it; room above the highest, but no share above a whole."""
    low, high = min(values), max(values)
    span = high - low or high or 1.0
    bottom = low - span * 0.06 if low > span else 0.0 - high * 0.02
    axes.set_ylim(bottom, 100 + span * 0.04 if is_share else (high or 1.0) + span * 0.06)


def standalone(svg: str, style: str) -> str:
    """A picture for a file of its own, on the page's paper: light or dark as the reader has it."""
    begin = svg.index(">") + 1
    paper = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    return f"{svg[:begin]}<style>{style}</style>{paper}{svg[begin:]}\n"


def _figure(height_in: float, grid: str, width_in: float = _WIDTH_IN) -> tuple[Any, Any]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "failsoft", "font.size": 9})
    mpl.rcParams["font.family"] = "sans-serif"
    figure = Figure(figsize=(width_in, height_in + 0.5), layout="constrained")
    axes = figure.add_subplot()
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(QUIET)
    axes.tick_params(colors=INK, which="both", length=3)
    axes.grid(axis=grid, color=QUIET, linewidth=0.4, alpha=0.5)
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
    # One line for each picture: the page is a file in a repository.
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text)
    # Matplotlib names its own font first, which no reader has; the page's fits better.
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--font)", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{_quoted(alt)}" ', 1)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _short(case: str) -> str:
    return case if len(case) <= 52 else case[:50] + "…"


def _number(value: float) -> str:
    if value == int(value) and value < 10_000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
