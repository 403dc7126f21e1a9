"""Three pictures for the README, as files beside the page: light or dark as the reader has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.plots import bars, curves, standalone
from bench.style import COLOURS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_pictures"]

_EXACT = "careful planner: exact"
_TWICE = "payments made twice, of 100 kills"
_CALL = "one call, the body suspends once"


def write_pictures(folder: Path, results: list[dict[str, Any]]) -> list[Path]:
    """Write those whose figures are there; the files."""
    by_suite = {each["suite"]: each for each in results}
    written = []
    for name, suite, draw in (
        ("exact", "chaos", _exact),
        ("killed", "crash", _killed),
        ("call", "call_path", _call),
    ):
        picture = draw(by_suite[suite]) if suite in by_suite else ""
        if picture:
            file = folder / f"{name}.svg"
            file.write_text(standalone(picture, COLOURS), encoding="utf-8")
            written.append(file)
    return written


def _exact(chaos: dict[str, Any]) -> str:
    curve = next((each for each in chaos.get("curves", ()) if each["title"].startswith(_EXACT)), None)
    if curve is None:
        return ""
    return curves(
        curve["lines"], curve["x"], "tasks that end exactly right, %", "Tasks that end exactly right, %"
    )


def _killed(crash: dict[str, Any]) -> str:
    """The share of kills after which a payment was booked twice."""
    grid = next(iter(crash.get("grids", ())), None)
    if grid is None:
        return ""
    doubts = grid["columns"].index("in doubt")
    told = {name for name, values in grid["lines"].items() if values[doubts]}
    rows = [
        {**row, "case": row["case"] + " (told as in doubt)" * (row["case"] in told)}
        for row in crash["rows"]
        if row["table"] == _TWICE
    ]
    return bars(rows, "Payments made twice, of 100 kills of the paying process")


def _call(call_path: dict[str, Any]) -> str:
    rows = [row for row in call_path["rows"] if row["table"] == _CALL and row["case"] != "validate + await"]
    return bars(rows, "What one call costs, beside validating, a time-out and awaiting") if rows else ""
