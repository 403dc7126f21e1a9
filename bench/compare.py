"""This run's figures beside stored ones, as ratios with the noise of both runs.

A figure that has a floor is compared by its ratio to the floor, so that another machine does not matter much.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["compare", "load", "worse"]

# A figure that moves by less than this is never called better or worse, however quiet the run was.
LEAST = 0.03
_MORE_IS_BETTER = ("%", "MB/s", "calls/s")


def load(base: Path) -> dict[str, dict[str, Any]]:
    """Stored results by suite; `base` is one file or a folder of them."""
    files = sorted(base.glob("*.json")) if base.is_dir() else [base]
    if not files:
        raise FileNotFoundError(f"no results in {base}")
    return {file.stem: json.loads(file.read_text("utf-8")) for file in files}


def compare(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each figure that both have: what it is now as a multiple of before, the band, and a verdict."""
    old = {(row["table"], row["case"]): row for row in before}
    rows = []
    for row in now:
        was = old.get((row["table"], row["case"]))
        if was is None or row["case"] == row.get("floor"):
            continue
        field = "ratio" if "ratio" in row and "ratio" in was else "value"
        change = _change(row[field], was[field])
        band = max(LEAST, row.get("noise", 0.0) + was.get("noise", 0.0))
        more, less = ("better", "worse") if row["unit"] in _MORE_IS_BETTER else ("worse", "better")
        verdict = "same" if abs(change - 1) <= band else more if change > 1 else less
        rows.append(
            {"table": row["table"], "case": row["case"], "change": change, "band": band, "verdict": verdict}
        )
    return rows


def _change(now: float, before: float) -> float:
    """Now as a multiple of before; a count that was nothing and is something has grown without bound."""
    if before:
        return now / before
    return math.inf if now else 1.0


def worse(rows: list[dict[str, Any]]) -> list[str]:
    """The figures that got worse by more than the noise."""
    return [f"{row['table']}: {row['case']}" for row in rows if row["verdict"] == "worse"]
