"""A static page from stored results: first figures, then a picture with a sentence and a table for each comparison.

No script, no other file; light or dark as the reader has it.
"""

from __future__ import annotations

import html
import itertools
import re
from typing import TYPE_CHECKING, Any

from bench.plots import bars, curves
from bench.style import STYLE
from bench.words import headlines, is_ours, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["write_page"]

_HOW = (
    "All cases of a picture ran in turns with each other on one machine. "
    "Where there is a floor, figures are ratios to it within a round; what is drawn is the median, and the thin line is "
    "the noise: half the range between processes or runs. Shorter bars are better unless the unit is a rate or a share. "
    "Each peer is set up as its own documentation advises, in a file of its own."
)
_NONE = "<p>None, with any of them.</p>"


def write_page(path: Path, results: list[dict[str, Any]]) -> None:
    """Write the page.

    Args:
        path: The file.
        results: As stored: `title`, `suite`, `machine`, `rows`, and perhaps `curves`, `grids`, `notes`, `setups`, `misses`.
    """
    links = "".join(f'<a href="#{each["suite"]}">{html.escape(each["title"])}</a>' for each in results)
    path.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>failsoft: measurements</title><style>{STYLE}</style></head><body>\n"
        f"<h1>failsoft: measurements</h1>\n{_headlines(results)}\n"
        f'<p class="command"><code>./run bench</code> measures all this and makes this page; '
        f"<code>./run bench --quick</code> does so in under five minutes.</p>\n"
        f'<p>{_HOW}</p>\n{_machines(results)}<nav aria-label="suites">{links}</nav>\n'
        + "\n".join(_section(each) for each in results)
        + "\n</body></html>\n",
        encoding="utf-8",
    )


def _headlines(results: list[dict[str, Any]]) -> str:
    cards = "".join(
        f'<a class="card" href="#{each.suite}"><b>{html.escape(each.figure)}</b> <span>{_words(each.text)}</span></a>'
        for each in headlines(results)
    )
    return f'<div class="cards">{cards}</div>' if cards else ""


def _words(text: str) -> str:
    """Plain text with `code`, and addresses as links."""
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"https://[^\s<,;]+[^\s<,;.]", lambda found: f'<a href="{found[0]}">{found[0]}</a>', safe)


def _machines(results: list[dict[str, Any]]) -> str:
    """Where the figures are from, once for all suites that are from there."""
    places: dict[str, list[str]] = {}
    for each in results:
        machine = each["machine"]
        place = (
            f"Python {machine['python']}, {machine.get('cores', '?')} cores of {machine.get('processor', '?')}, "
            f"{machine.get('system', '?')}"
        )
        places.setdefault(place, []).append(each["title"])
    lines = []
    for place, titles in places.items():
        which = "" if len(places) == 1 else f" ({', '.join(titles)})"
        lines.append(f'<p class="where">{html.escape(place + which)}</p>')
    return "\n".join(lines)


def _section(result: dict[str, Any]) -> str:
    parts = [f'<section id="{result["suite"]}"><h2>{html.escape(result["title"])}</h2>']
    parts += [f"<p>{_words(note)}</p>" for note in result.get("notes", ())]
    for title, group in itertools.groupby(result["rows"], key=lambda row: row["table"]):
        if not any(_stands_for(each, title) for each in result.get("curves", ())):
            parts.append(_comparison(title, list(group)))
    for each in result.get("curves", ()):
        is_empty = not any(value for points in each["lines"].values() for _, value in points)
        drawn = (
            _NONE
            if is_empty
            else curves(each["lines"], each["x"], each["y"], each["title"], is_log=each.get("is_log", False))
        )
        parts.append(_figure(each["title"], drawn) + _figures_of(each, result["rows"]))
    grids = [f"<h4>{html.escape(each['title'])}</h4>{_grid(each)}" for each in result.get("grids", ())]
    if len(grids) == 1:
        parts.append(grids[0])
    elif grids:
        parts.append(_folded("all figures", "".join(grids)))
    parts += [_setups(result), _misses(result), _where(result)]
    return "\n".join([*filter(None, parts), "</section>"])


def _stands_for(curve: dict[str, Any], table: str) -> bool:
    """A curve that names its tables stands for those, any other for all of its suite."""
    return table in curve.get("tables", (table,))


def _figures_of(curve: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    tables = curve.get("tables", ())
    named = [{**row, "case": f"{row['table']}: {row['case']}"} for row in rows if row["table"] in tables]
    return _folded("the figures", _table(named)) if named else ""


def _comparison(title: str, rows: list[dict[str, Any]]) -> str:
    if all(row["value"] == rows[0]["value"] == 0 for row in rows):
        return _figure(title, _NONE)
    picture = bars(rows, title) if len(rows) > 1 else ""
    return _figure(title, picture) + _folded("the figures", _table(rows))


def _figure(title: str, picture: str) -> str:
    says = sentence(title)
    caption = f"<figcaption>{_words(says)}</figcaption>" if says else ""
    head = f"<h3>{html.escape(title[:1].upper() + title[1:])}</h3>"
    return f'{head}<figure>{caption}<div class="scroll">{picture}</div></figure>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary>{content}</details>"


def _grid(grid: dict[str, Any]) -> str:
    """A line for each system and a column for each of its figures."""
    return _lines(
        ["", *grid["columns"]],
        ((name, [f"{value:,g}" for value in values]) for name, values in grid["lines"].items()),
    )


def _table(rows: list[dict[str, Any]]) -> str:
    columns = {
        "value": lambda row: f"{row['value']:,.4g} {row['unit']}",
        "best tenth": lambda row: f"{row['quiet']:,.4g}" if "quiet" in row else "",
        "× floor": lambda row: f"{row['ratio']:.3f}" if "ratio" in row else "",
        "noise": lambda row: f"±{row['noise']:.0%}" if row.get("noise") else "",
    }
    filled = {head: make for head, make in columns.items() if any(make(row) for row in rows)}
    return _lines(["", *filled], ((row["case"], [make(row) for make in filled.values()]) for row in rows))


def _lines(heads: list[str], lines: Iterable[tuple[str, list[str]]]) -> str:
    head = "".join(f"<th>{html.escape(each)}</th>" for each in heads)
    body = "".join(_line(name, values) for name, values in lines)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _line(name: str, values: list[str]) -> str:
    mark = ' class="ours"' if is_ours(name) else ""
    cells = "".join(f"<td>{html.escape(value)}</td>" for value in values)
    return f"<tr{mark}><td>{html.escape(name)}</td>{cells}</tr>"


def _setups(result: dict[str, Any]) -> str:
    """What each system's documentation promises, and where."""
    items = "".join(
        f"<li><b>{html.escape(each['system'])}</b>: {_words(each['promise'])} ({_words(each['page'])})</li>"
        for each in result.get("setups", ())
    )
    return (
        _folded("how each system is set up, and what its documentation promises", f"<ul>{items}</ul>")
        if items
        else ""
    )


def _misses(result: dict[str, Any]) -> str:
    """Failsoft's own misses, one by one, with the reason where it was found."""
    misses = result.get("misses")
    if not misses:
        return ""
    columns = list(dict.fromkeys(key for miss in misses for key in miss))
    lines = [
        (str(miss.get(columns[0], "")), [_plain(miss.get(key)) for key in columns[1:]]) for miss in misses
    ]
    return _folded(f"failsoft's misses, one by one: {len(misses)}", _lines(columns, lines))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(each)}" for key, each in value.items())
    return "" if value is None else str(value)


def _where(result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine.get("versions", {}).items())
    took = f", took {result['took_s']} s" if "took_s" in result else ""
    load = "" if machine.get("load") is None else f", load {machine['load']} at the beginning"
    mode = ", quick" if result.get("quick") else ""
    command = f"./run bench{' --quick' if result.get('quick') else ''} --only {result['suite']}"
    text = f"{result.get('day', '')}{mode}{took}{load}. {versions}"
    return f'<p class="where"><code>{command}</code> {html.escape(text)}</p>'
