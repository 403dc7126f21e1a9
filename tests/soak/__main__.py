"""`./run soak [--seconds N] [--json] [--plot FILE.svg]`: does it hold for a long time?"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.soak.judge import faults
from tests.soak.load import Soak, soak
from tests.soak.plot import draw, sparks

CALLS_PER_S = 10_000 / 300
_SHOWN_FAULTS = 20


def main(arguments: list[str] | None = None) -> int:
    """Run, judge and print; 1 where something was wrong."""
    parser = argparse.ArgumentParser(prog="./run soak", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="how long calls are begun (default 300)")
    parser.add_argument("--calls", type=int, help="how many; default 10,000 in five minutes")
    parser.add_argument("--seed", type=int, default=1, help="of what is called and what goes wrong")
    parser.add_argument("--plot", type=Path, help="write the counts as SVG into this file")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args(arguments)
    logging.getLogger("failsoft").setLevel(logging.CRITICAL)  # thousands of failures are the plan
    calls = options.calls or round(options.seconds * CALLS_PER_S)
    with tempfile.TemporaryDirectory(prefix="failsoft-soak-") as name:
        folder = Path(name)
        result = asyncio.run(soak(folder, calls=calls, seconds=options.seconds, seed=options.seed, say=_say))
        wrong = faults(result, folder)
    if options.plot is not None and not draw(result.counts, options.plot):
        _say("no chart was drawn: it needs failsoft[lab]")
    if options.json:
        print(json.dumps(_data(result, wrong), indent=1))
    else:
        _print(result, wrong)
    return 1 if wrong else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _data(result: Soak, wrong: list[str]) -> dict[str, Any]:
    assert result.before is not None
    assert result.after is not None
    return {
        "asked": result.asked,
        "answered": len(result.answers),
        "took_s": round(result.took_s, 1),
        "outcomes": result.outcomes(),
        "before": result.before.row(),
        "after": result.after.row(),
        "faults": wrong,
        "counts": [each.row() for each in result.counts],
    }


def _print(result: Soak, wrong: list[str]) -> None:
    print(f"{len(result.answers)} of {result.asked} calls answered in {result.took_s:.0f} s")
    print("  " + ", ".join(f"{kind} {count}" for kind, count in result.outcomes().items()))
    for line in sparks(result.counts):
        print("  " + line)
    assert result.before is not None
    assert result.after is not None
    for name, each in (("before", result.before), ("after", result.after)):
        print(
            f"  {name:6} {each.processes} processes, {each.threads} threads, {each.descriptors} descriptors, "
            f"{each.memory_mb:.0f} MB"
        )
    if not wrong:
        print("it held: no result lost, nothing done twice, nothing left, the ledger agrees with the world")
        return
    print(f"{len(wrong)} faults:")
    for text in wrong[:_SHOWN_FAULTS]:
        print(f"  {text}")


if __name__ == "__main__":
    sys.exit(main())
