"""A process of a system: `python -m bench.crash.life MODULE work|ask JOB.json OUT.json`."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Do the job, and leave what it says in a file that is whole or not there."""
    module, verb, job, out = sys.argv[1:]
    said = getattr(importlib.import_module(module), verb)(json.loads(Path(job).read_text("utf-8")))
    draft = Path(f"{out}.draft")
    draft.write_text(json.dumps(said), encoding="utf-8")
    os.replace(draft, out)


if __name__ == "__main__":
    main()
