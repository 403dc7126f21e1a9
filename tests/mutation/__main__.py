"""`./run py -m tests.mutation [--only breaker_state] [--json]`: would the tests notice a slip in `policies/`?

mutmut changes one thing of a copy at a time and runs the tests that touch it; a mutant that no test notices survives.
Progress goes to stderr; 1 where the score is below the aim, or a survivor has no reason in `survivors.toml`.
All files take three quarters of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.mutation.explain import read
from tests.mutation.trial import ROOM, ROOT, Mutant, mutants_of, say

AIM = 90.0


def main(arguments: list[str] | None = None) -> int:
    """Copy, mutate, test, judge and print."""
    parser = argparse.ArgumentParser(prog="./run py -m tests.mutation", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", default=[], metavar="FILE", help="such as breaker_state; may be repeated"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 2, help="tests at a time; default one for each core"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args(arguments)
    known = sorted(path.stem for path in (ROOT / ROOM).glob("*.py"))
    if unknown := set(options.only) - set(known):
        parser.error(f"there is no {sorted(unknown)[0]}.py in {ROOM}; known: {', '.join(known)}")
    reasons = read()
    with tempfile.TemporaryDirectory(prefix="failsoft-mutation-") as name:
        mutants = mutants_of(Path(name), options.only or known, options.jobs, reasons)
    if not mutants:
        say("there was nothing to mutate")
        return 1
    print(json.dumps(_data(mutants), indent=1)) if options.json else _print(mutants)
    for reason in reasons:
        if reason.file in (options.only or known) and all(mutant.reason is not reason for mutant in mutants):
            say(f"no longer needed: {reason.file}: {reason.function}: {list(reason.change)}")
    return int(
        _score(mutants) < AIM or any(not mutant.noticed and mutant.reason is None for mutant in mutants)
    )


def _score(mutants: list[Mutant]) -> float:
    tried = [mutant for mutant in mutants if mutant.status != "skipped"]
    return 100 * sum(mutant.noticed for mutant in tried) / max(1, len(tried))


def _data(mutants: list[Mutant]) -> dict[str, Any]:
    files = {
        file: [mutant for mutant in mutants if mutant.file == file]
        for file in dict.fromkeys(m.file for m in mutants)
    }
    return {
        "score": round(_score(mutants), 1),
        "mutants": len(mutants),
        "files": {
            file: {
                "score": round(_score(own), 1),
                "mutants": len(own),
                **Counter(mutant.status for mutant in own),
            }
            for file, own in files.items()
        },
        "survivors": [
            {"file": m.file, "mutant": m.name, "status": m.status, "change": m.change}
            | ({"kind": m.reason.kind, "why": m.reason.why} if m.reason else {"kind": None, "why": None})
            for m in mutants
            if not m.noticed
        ],
    }


def _print(mutants: list[Mutant]) -> None:
    found = _data(mutants)
    for reason_first in (False, True):
        for row in found["survivors"]:
            if bool(row["why"]) is reason_first:
                why = f"{row['kind']}: {row['why']}" if row["why"] else f"UNEXPLAINED ({row['status']})"
                print(f"{row['mutant']}\n  " + row["change"].replace("\n", "\n  ") + f"\n  {why}")
    for file, row in sorted(found["files"].items()):
        print(f"{file:16} {row['score']:5.1f} %  of {row['mutants']}")
    unexplained = sum(row["why"] is None for row in found["survivors"])
    print(f"{'all':16} {found['score']:5.1f} %  of {found['mutants']}; {unexplained} survivors unexplained")


if __name__ == "__main__":
    sys.exit(main())
