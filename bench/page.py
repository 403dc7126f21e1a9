"""A static page from stored results: a bar chart and a table for each comparison, light or dark as the reader has it."""

from __future__ import annotations

import html
import itertools
from typing import TYPE_CHECKING, Any

from bench.plots import bars, curves

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_page"]

_STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #22262b; --quiet: #b9bec5; --ours: #0b6e4f; --peer: #9aa7b5;
  --line1: #b3541e; --line2: #5b4b8a; --line3: #2f6db5; --line4: #a8323e; --line5: #6b7280; --line6: #8a6d1b;
  --band: #f1f2ee; --font: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #dfe3e8; --quiet: #4b535d; --ours: #4cc38a;
  --peer: #66727f; --line1: #f0883e; --line2: #b392f0; --line3: #79b8ff; --line4: #ff7b72; --line5: #9aa4af;
  --line6: #d9b44a; --band: #1e2227; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 var(--font); margin: 0 auto; max-width: 58rem;
  padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.8rem 0 .2rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 1.6rem 0 .2rem; }
nav a { margin-right: .9rem; } a { color: var(--ours); }
.where { color: var(--ink); opacity: .72; font-size: .85rem; margin: .2rem 0; }
svg { display: block; height: auto; max-width: 100%; margin: .4rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; margin: .4rem 0; width: 100%; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--band); }
th:first-child, td:first-child { text-align: left; } tr.ours { background: var(--band); font-weight: 600; }
summary { cursor: pointer; font-size: .86rem; opacity: .8; }
"""


def write_page(path: Path, results: list[dict[str, Any]]) -> None:
    """Write the page.

    Args:
        path: The file.
        results: As stored: `title`, `suite`, `machine`, `rows`, and perhaps `curves` and `notes`.
    """
    links = " ".join(f'<a href="#{each["suite"]}">{html.escape(each["title"])}</a>' for each in results)
    sections = "\n".join(_section(each) for each in results)
    path.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>failsoft: measurements</title><style>{_STYLE}</style></head><body>\n"
        "<h1>failsoft: measurements</h1>\n"
        "<p>Every case of a chart ran in turns with the others on one machine. "
        "A ratio is taken to the floor, within the same round; what is drawn is the median. "
        "The thin line is the noise: half the range between processes or runs. "
        "Shorter bars are better unless the unit is a rate. "
        "<code>./run bench</code> makes this page.</p>\n"
        f"<nav>{links}</nav>\n{sections}\n</body></html>\n",
        encoding="utf-8",
    )


def _section(result: dict[str, Any]) -> str:
    parts = [f'<section id="{result["suite"]}"><h2>{html.escape(result["title"])}</h2>', _where(result)]
    parts += [f"<p>{html.escape(note)}</p>" for note in result.get("notes", ())]
    for each in result.get("curves", ()):
        parts.append(f"<h3>{html.escape(each['title'])}</h3>")
        parts.append(curves(each["lines"], each["x"], each["y"], each["title"]))
    for title, group in itertools.groupby(result["rows"], key=lambda row: row["table"]):
        rows = list(group)
        parts.append(f"<h3>{html.escape(title)}</h3>")
        if len(rows) > 1 and not result.get("curves"):
            parts.append(bars(rows, title))
        parts.append(f"<details><summary>the figures</summary>{_table(rows)}</details>")
    return "\n".join([*parts, "</section>"])


def _where(result: dict[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine.get("versions", {}).items())
    load = "" if machine.get("load") is None else f", load {machine['load']} at the beginning"
    text = (
        f"{result.get('day', '')} Python {machine['python']}, {machine.get('cores', '?')} cores of "
        f"{machine.get('processor', '?')}, {machine.get('system', '?')}{load}. {versions}"
    )
    return f'<p class="where">{html.escape(text.strip())}</p>'


def _table(rows: list[dict[str, Any]]) -> str:
    head = "<tr><th></th><th>value</th><th>best tenth</th><th>× floor</th><th>noise</th></tr>"
    lines = []
    for row in rows:
        quiet = f"{row['quiet']:,.2f}" if "quiet" in row else ""
        ratio = f"{row['ratio']:.3f}" if "ratio" in row else ""
        noise = f"±{row['noise']:.0%}" if "noise" in row else ""
        mark = ' class="ours"' if "failsoft" in row["case"] else ""
        lines.append(
            f"<tr{mark}><td>{html.escape(row['case'])}</td><td>{row['value']:,.2f} {row['unit']}</td>"
            f"<td>{quiet}</td><td>{ratio}</td><td>{noise}</td></tr>"
        )
    return f'<div class="scroll"><table>{head}{"".join(lines)}</table></div>'
