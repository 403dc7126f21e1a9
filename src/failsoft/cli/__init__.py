"""cli owns the `failsoft` command: data to stdout, everything else to stderr, one file for each command.

Exit codes: 0 finished, 1 not finished (the reason is printed), 2 misuse, 3 waiting for a person, 130 interrupted.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The entry point of the `failsoft` script."""
    try:
        from failsoft.cli.app import run
    except ModuleNotFoundError as exc:
        if exc.name and exc.name.split(".")[0] in ("click", "rich"):
            print(f"failsoft: the command line needs the package {exc.name!r}", file=sys.stderr)
            print("hint: pip install 'failsoft[cli]'", file=sys.stderr)
            sys.exit(2)
        raise
    sys.exit(run())
