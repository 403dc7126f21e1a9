"""What is shown and stored of the scores: rows as all suites have them, lines over the rates, tables, and misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.chaos.judge import Score
    from bench.chaos.pool import Scores

__all__ = ["FIGURES", "OURS", "curves_of", "grids_of", "misses_of", "rows_of", "setups_of", "show"]

OURS = "with_failsoft"
FIGURES: dict[str, tuple[str, Callable[[Score], float]]] = {
    "exact final states, % of tasks": ("%", lambda score: score.exact * 100),
    "effects done twice, of 100 tasks": ("", lambda score: score.duplicated * 100),
    "wrong claims to the model, of 100 tasks": ("", lambda score: score.wrong_claims * 100),
    "effects lost, of 100 tasks": ("", lambda score: score.lost * 100),
    "effects that happened while the answer said nothing, of 100 tasks": (
        "",
        lambda score: score.untold * 100,
    ),
    "wrong beliefs about effects at the end, of 100 tasks": ("", lambda score: score.wrong_beliefs * 100),
    "misses that nobody was told of, of 100 tasks": ("", lambda score: score.silent * 100),
    "doubts told to the model, of 100 tasks": ("", lambda score: score.doubts_told * 100),
    "secrets shown to the model, of 100 tasks": ("", lambda score: score.secrets * 100),
    "calls of the model, of a task": ("", lambda score: score.calls),
    "virtual time, of a task": ("s", lambda score: score.virtual_s),
}
DRAWN = 3
_COLUMNS = ("exact", "duplicated", "lost", "wrong_claims", "untold", "wrong_beliefs", "silent", "doubts_told")


def rows_of(scores: Scores, titles: dict[str, str], rates: tuple[int, ...]) -> list[dict[str, Any]]:
    """One table for each figure and planner."""
    return [
        {
            "table": f"{planner} planner: {figure}",
            "case": f"{rate} % faults: {title}",
            "unit": unit,
            "value": of(by_system[(name, rate)]) / by_system[(name, rate)].tasks,
            "noise": 0.0,
        }
        for planner, by_system in scores.items()
        for figure, (unit, of) in FIGURES.items()
        for rate in rates
        for name, title in titles.items()
    ]


def curves_of(scores: Scores, titles: dict[str, str], rates: tuple[int, ...]) -> list[dict[str, Any]]:
    """Lines over the rates, failsoft's first."""
    return [
        {
            "title": f"{planner} planner: {figure}",
            "x": "requests that meet a fault, %",
            "y": figure.partition(",")[0],
            "lines": {
                titles[name]: [
                    (rate, of(by_system[(name, rate)]) / by_system[(name, rate)].tasks) for rate in rates
                ]
                for name in _ordered(titles)
            },
        }
        for planner, by_system in scores.items()
        for figure, (_, of) in list(FIGURES.items())[:DRAWN]
    ]


def grids_of(scores: Scores, titles: dict[str, str], rates: tuple[int, ...]) -> list[dict[str, Any]]:
    """For each figure and planner a table with a line for each system and a column for each rate."""
    return [
        {
            "title": f"{planner} planner: {figure}",
            "columns": [f"{rate} %" for rate in rates],
            "lines": {
                titles[name]: [
                    round(of(by_system[(name, rate)]) / by_system[(name, rate)].tasks, 2) for rate in rates
                ]
                for name in _ordered(titles)
            },
        }
        for planner, by_system in scores.items()
        for figure, (_, of) in FIGURES.items()
    ]


def misses_of(scores: Scores, name: str = OURS) -> list[dict[str, Any]]:
    """A system's tasks that are not exact, or of which something wrong was said, believed or shown."""
    return [
        {"planner": planner, **miss}
        for planner, by_system in scores.items()
        for (system, _), score in by_system.items()
        if system == name
        for miss in score.misses
    ]


def setups_of(modules: dict[str, Any]) -> list[dict[str, str]]:
    """How each system is set up: what its file says of itself."""
    found = []
    for module in modules.values():
        first, _, rest = (module.__doc__ or "").strip().partition("\n\n")
        page = " ".join(rest.split()).rstrip(".")
        found.append({"system": module.TITLE, "promise": first.rstrip("."), "page": page or "nothing else"})
    return found


def show(scores: Scores, titles: dict[str, str], rates: tuple[int, ...]) -> None:
    """Print for people."""
    for planner, by_system in scores.items():
        print(f"\n{planner} planner")
        heads = (
            "exact",
            "twice",
            "lost",
            "claims",
            "untold",
            "beliefs",
            "silent",
            "doubts",
            "secrets",
            "calls",
        )
        print(f"  {'':34}" + "".join(f"{head:>8}" for head in heads) + f"{'s/task':>8}")
        for rate in rates:
            print(f"  {rate} % faults")
            for name in _ordered(titles):
                score = by_system[(name, rate)]
                counts = [getattr(score, column) for column in (*_COLUMNS, "secrets", "calls")][1:]
                print(
                    f"    {titles[name]:32}{score.exact / score.tasks:8.2%}"
                    + "".join(f"{count:8}" for count in counts)
                    + f"{score.virtual_s / score.tasks:8.1f}"
                )


def _ordered(titles: dict[str, str]) -> list[str]:
    return sorted(titles, key=lambda name: name != OURS)
