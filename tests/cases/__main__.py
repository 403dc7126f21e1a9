"""`./run cases FILE`: run every case of a file and print what came out."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cases.runner import run_case

_LOOKS = {True: "ok  ", False: "FAIL", None: "-   "}


def main(arguments: list[str]) -> int:
    """Run the cases; 1 when one failed, 2 for misuse."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m tests.cases FILE", file=sys.stderr)
        return 2
    file = Path(arguments[0])
    if not file.is_file():
        print(f"cases: there is no file {file}", file=sys.stderr)
        return 2
    with _quiet():
        return _run(file)


@contextmanager
def _quiet() -> Iterator[None]:
    """What the runtime itself logs and warns of is expected here: these calls are meant to go wrong."""
    log = logging.getLogger("failsoft")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


def _run(file: Path) -> int:
    counts = {True: 0, False: 0, None: 0}
    for line in file.read_text("utf-8").splitlines():
        if not line.strip():
            continue
        case, began = json.loads(line), time.monotonic()
        ok, detail = run_case(case)
        counts[ok] += 1
        print(json.dumps({"id": case.get("id"), "ok": ok, "detail": detail}, ensure_ascii=True), flush=True)
        took = time.monotonic() - began
        print(f"cases: {_LOOKS[ok]} {case.get('id')} {case.get('title', '')} ({took:.1f} s)", file=sys.stderr)
        if ok is not True:
            print(f"       {detail[:2000]}", file=sys.stderr)
    print(f"cases: {counts[True]} ok, {counts[False]} failed, {counts[None]} not judged", file=sys.stderr)
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
