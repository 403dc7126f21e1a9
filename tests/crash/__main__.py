"""Kill processes at every step of a protected call, and count what happened.

    python -m tests.crash [--kills 1000] [--store sqlite|postgres|both] [--dir DIR] [--seconds S]

Progress goes to stderr, one JSON object to stdout; the exit code is 1 where anything was repeated, forgotten or lost.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.crash.matrix import Books, Matrix, kill_many
from tests.stores.server import running_server


def _progress(store: str, kills: int) -> Any:
    last, shown = 0.0, 0

    def told(books: Books) -> None:
        nonlocal last, shown
        for fault in books.faults[shown:]:
            print(f"{store}: FAULT {fault}", file=sys.stderr, flush=True)
        shown = len(books.faults)
        if time.monotonic() - last > 5:
            last = time.monotonic()
            print(
                f"{store}: {books.kills}/{kills} kills, {books.in_doubt} in doubt, {len(books.faults)} faults",
                file=sys.stderr,
                flush=True,
            )

    return told


def _listed(url: str) -> set[str]:
    """The open doubts, as the command line lists them."""
    command = [sys.executable, "-c", "import sys; from failsoft.cli import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "doubts", "list", "--store", url, "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"failsoft doubts ended with {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    rows = found["doubts"] if isinstance(found, dict) else found
    return {row["id"] for row in rows}


def one_store(store: str, url: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All of it on one store."""
    started = time.monotonic()
    matrix = Matrix(url, folder, options.seed)
    books = kill_many(matrix, options.kills, seconds=options.seconds, told=_progress(store, options.kills))
    listed = _listed(url)
    for what, wrong in (("omits", books.open_doubts - listed), ("adds", listed - books.open_doubts)):
        if wrong:
            books.faults.append(f"`failsoft doubts` {what} {len(wrong)} doubts, such as {sorted(wrong)[:3]}")
    return {"store": store, "seconds": round(time.monotonic() - started, 1), **books.summary()}


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="for each store")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--dir", default=None, help="on which disk")
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long, for each store")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows = []
    with contextlib.ExitStack() as stack:
        for store in ("sqlite", "postgres"):
            if options.store not in (store, "both"):
                continue
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.dir)))
            if store == "sqlite":
                url = f"sqlite:///{folder / 'failsoft.db'}"
            else:
                url = stack.enter_context(running_server()).url
            rows.append(one_store(store, url, folder, options))
    print(json.dumps(rows, indent=1))
    return 1 if any(row["faults"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
