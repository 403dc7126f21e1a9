"""`./run bench`: all measurements in one run, stored with the machine, and a page of them.

    ./run bench [--quick] [--only NAME]... [--compare BASE] [--results FOLDER] [--page]

Progress goes to stderr. A suite that fails is reported and the others go on; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

from bench.compare import compare, load, worse
from bench.measure import ROOT, machine, say, show
from bench.page import write_page
from bench.pictures import write_pictures
from bench.suites import SUITES, Suite, run


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="./run bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [suite.name for suite in SUITES]
    parser.add_argument("--quick", action="store_true", help="fewer rounds; under five minutes")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--compare", type=Path, metavar="BASE", help="stored results: a file or a folder")
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="default bench/results; with --quick .bench/results"
    )
    parser.add_argument(
        "--page", action="store_true", help="draw the page from what is stored; measure nothing"
    )
    return parser.parse_args()


def measured(suite: Suite, quick: bool) -> dict[str, Any] | None:
    """What is stored of one suite; None where there is nothing, which has been said."""
    missing = [name for name in suite.needs if importlib.util.find_spec(name) is None]
    if missing:
        say(f"{suite.name}: left out, it needs {', '.join(missing)}")
        return None
    where, began = machine(*suite.peers), time.monotonic()
    try:
        found = run(suite, quick)
    except Exception as exc:  # whatever it is, the other suites go on
        say(f"{suite.name}: FAILED: {type(exc).__name__}: {exc}")
        return None
    where["versions"] = {**where["versions"], **found.pop("versions", {})}
    took_s = round(time.monotonic() - began)
    say(f"{suite.name}: done in {took_s} s")
    return {
        "suite": suite.name,
        "title": suite.title,
        "day": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "quick": quick,
        "took_s": took_s,
        "machine": where,
        **found,
    }


def store(folder: Path, result: dict[str, Any]) -> None:
    """Keep one suite's result, as soon as it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (folder / f"{result['suite']}.json").write_text(text + "\n", encoding="utf-8")


def show_changes(results: list[dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    """Print each figure as a multiple of the stored one."""
    print("\nbeside the stored results: now / before, and the band that noise explains")
    lost = []
    for result in results:
        old = before.get(result["suite"])
        if old is None or "suite" not in old:
            print(f"  {result['suite']}: nothing stored")
            continue
        rows = compare(result["rows"], old["rows"])
        lost += worse(rows)
        for row in rows:
            name = f"{row['table']}: {row['case']}"
            print(f"  {name[:84]:84} {row['change']:7.3f}  ±{row['band']:4.0%}  {row['verdict']}")
    print(f"worse than noise explains: {len(lost)}")


def main() -> int:
    """Run, store, draw, and compare."""
    options = parsed()
    folder = options.results or (ROOT / ".bench" / "results" if options.quick else ROOT / "bench" / "results")
    before = load(options.compare) if options.compare else {}
    chosen = [
        suite
        for suite in SUITES
        if not options.page
        and (options.only is None or suite.name in options.only)
        and not (options.quick and suite.quick is None)
    ]
    results, began = [], time.monotonic()
    for number, suite in enumerate(chosen):
        say(f"[{number + 1}/{len(chosen)}] {suite.name}, {time.monotonic() - began:.0f} s so far")
        result = measured(suite, options.quick)
        if result is not None:
            results.append(result)
            store(folder, result)
            show(result["rows"])
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    shown = stored(folder)
    write_page(page, shown)
    write_pictures(folder, shown)
    say(
        f"stored in {os.path.relpath(folder)}, page {os.path.relpath(page)}, {time.monotonic() - began:.0f} s"
    )
    if options.compare:
        show_changes(results, before)
    lost = sorted({suite.name for suite in chosen} - {result["suite"] for result in results})
    if lost:
        say(f"without figures: {', '.join(lost)}")
    return 1 if lost else 0


def stored(folder: Path) -> list[dict[str, Any]]:
    """All results of a folder, in the order of the suites; files of other kinds are left alone."""
    order = {suite.name: number for number, suite in enumerate(SUITES)}
    found = [each for each in load(folder).values() if "suite" in each] if any(folder.glob("*.json")) else []
    return sorted(found, key=lambda each: order.get(each["suite"], len(order)))


if __name__ == "__main__":
    raise SystemExit(main())
