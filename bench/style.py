"""How the page looks: colours as variables, one set for light and one for dark."""

from __future__ import annotations

__all__ = ["COLOURS", "STYLE"]

COLOURS = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #22262b; --quiet: #b9bec5; --ours: #0b6e4f; --peer: #9aa7b5;
  --line1: #b3541e; --line2: #5b4b8a; --line3: #2f6db5; --line4: #a8323e; --line5: #6b7280; --line6: #8a6d1b;
  --line7: #3a7d7c; --line8: #a1478f; --line9: #4d4d4d; --band: #f1f2ee; --faint: #5c646d;
  --font: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #dfe3e8; --quiet: #4b535d; --ours: #4cc38a;
  --peer: #66727f; --line1: #f0883e; --line2: #b392f0; --line3: #79b8ff; --line4: #ff7b72; --line5: #9aa4af;
  --line6: #d9b44a; --line7: #6cc7c5; --line8: #e08fd0; --line9: #c8c8c8; --band: #1e2227; --faint: #9aa4af; } }
"""
STYLE = (
    COLOURS
    + """
* { box-sizing: border-box; }
body { background: var(--paper); color: var(--ink); font: 16px/1.55 var(--font); margin: 0 auto; max-width: 58rem;
  padding: 1.5rem 1.25rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { border-top: 1px solid var(--quiet); font-size: 1.35rem; margin: 3rem 0 .4rem; padding-top: 1.2rem; }
h3 { font-size: 1.02rem; font-weight: 600; margin: 1.9rem 0 .1rem; }
h4 { font-size: .92rem; font-weight: 600; margin: 1.1rem 0 .2rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: var(--ours); } code { font-size: .9em; background: var(--band); border-radius: 3px; padding: .08em .3em; }
.cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); margin: 0 0 1.4rem; }
.card { background: var(--band); border-radius: 8px; color: inherit; padding: .8rem .95rem; text-decoration: none; }
.card:hover, .card:focus-visible { outline: 2px solid var(--ours); }
.card b { color: var(--ours); display: block; font-size: 1.75rem; font-weight: 650; letter-spacing: -.01em; line-height: 1.25; }
.card span { display: block; font-size: .87rem; line-height: 1.4; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0 0; font-size: .93rem; }
.where, figcaption { color: var(--faint); font-size: .87rem; }
figure { margin: 0; } figcaption { margin: 0 0 .3rem; max-width: 46rem; }
.scroll { overflow-x: auto; } svg { display: block; height: auto; min-width: 34rem; width: 100%; max-width: 48rem; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; margin: .4rem 0 .8rem; width: 100%; }
th, td { border-bottom: 1px solid var(--band); padding: .22rem .6rem; text-align: right; vertical-align: top; }
th { font-weight: 600; } th:first-child, td:first-child { min-width: 12rem; padding-left: .3rem; text-align: left; }
tr.ours { background: var(--band); font-weight: 600; }
summary { color: var(--faint); cursor: pointer; font-size: .87rem; margin: .3rem 0; } li { margin: .25rem 0; }
"""
)
