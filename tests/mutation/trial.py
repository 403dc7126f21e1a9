"""Making the mutants in a copy of the project, and running the tests on each of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.explain import Reason, change_of, function_of

ROOT = Path(__file__).resolve().parents[2]
ROOM = "src/failsoft/policies"
_MUTMUT = "mutmut==3.8.1"  # pinned: another version makes other mutants
_COPIED = ("src", "tests", "docs", "bench", "requirements", "README.md", "pyproject.toml")
_NOTICED = ("killed", "timeout", "caught by type check")
# A time-out counts as noticing, and the limit of a test is in wall time: a busy machine must not raise the score.
_CONFIG = """
[tool.mutmut]
source_paths = ["{room}"]
only_mutate = {files}
pytest_add_cli_args_test_selection = ["tests/policies"]
pytest_add_cli_args = ["-q", "-x", "--timeout=120", "-p", "no:cacheprovider", "-p", "no:xdist"]
also_copy = ["src/failsoft", "docs", "bench", "requirements", "README.md"]
use_git_change_detection = false
"""
_REPORT = """
import json
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
rows = []
for path in walk_mutatable_files():
    data = SourceFileMutationData(path=path)
    data.load()
    for name, code in data.exit_code_by_key.items():
        rows.append((path.stem, name, status_by_exit_code[code], get_diff_for_mutant(name, path=path) if code != 1 else ""))
print(json.dumps(rows))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change that was tried, and the reason why nothing noticed it, where there is one."""

    file: str
    name: str
    status: str
    change: str
    reason: Reason | None

    @property
    def noticed(self) -> bool:
        """Whether a test failed or hung."""
        return self.status in _NOTICED


def mutants_of(folder: Path, files: list[str], jobs: int, reasons: list[Reason]) -> list[Mutant]:
    """Every mutant of `files` with what came of it; works below `folder`, with `jobs` tests at a time."""
    work = folder / "work"
    for name in _COPIED:
        source, target = ROOT / name, work / name
        if source.is_dir():
            shutil.copytree(
                source, target, ignore=shutil.ignore_patterns("__pycache__", "*.db*", "node_modules")
            )
        else:
            shutil.copy2(source, target)
    patterns = json.dumps([f"{ROOM}/{file}.py" for file in files])
    with (work / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write(_CONFIG.format(room=ROOM, files=patterns))
    python = _environment(folder / "venv")
    _run([python.with_name("mutmut"), "run", "--max-children", str(jobs)], work, folder / "log")
    rows = json.loads(
        subprocess.run([python, "-c", _REPORT], cwd=work, check=True, capture_output=True).stdout
    )
    return [_mutant(*row, reasons) for row in rows]


def _mutant(file: str, name: str, status: str, diff: str, reasons: list[Reason]) -> Mutant:
    function, change = function_of(name), change_of(diff)
    fitting = [reason for reason in reasons if status not in _NOTICED and reason.fits(file, function, change)]
    return Mutant(file=file, name=name, status=status, change=change, reason=next(iter(fitting), None))


def _environment(folder: Path) -> Path:
    """A Python with mutmut and all that this one has, so that nothing is installed into the project's own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    packages = next(folder.glob("lib/python*/site-packages"))
    ours = site.getsitepackages()[0]
    (packages / "project.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")
    say(f"installing {_MUTMUT}")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", _MUTMUT]
    subprocess.run(pip, check=True, stdout=sys.stderr)
    return python


def _run(command: list[Any], work: Path, log: Path) -> None:
    # Hypothesis draws the same examples each time where it sees CI: the score is then that of the tests, not of luck.
    environment = {**os.environ, "CI": "1"}
    with log.open("w", encoding="utf-8") as out:
        running = subprocess.Popen(command, cwd=work, env=environment, stdout=out, stderr=subprocess.STDOUT)
        started, told = time.monotonic(), b""
        while running.poll() is None:
            time.sleep(1)
            seen = re.findall(rb"\d+/\d+", _end(log, 400))
            if seen and seen[-1] != told and int(time.monotonic() - started) % 10 == 0:
                told = seen[-1]
                say(f"{told.decode()} mutants after {time.monotonic() - started:.0f} s")
    if running.returncode:
        raise SystemExit(
            f"mutmut ended with {running.returncode}:\n{_end(log, 3000).decode(errors='replace')}"
        )


def _end(log: Path, size: int) -> bytes:
    # The log of a whole run has megabytes.
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read()


def say(text: str) -> None:
    """Progress, beside the product's output."""
    print(text, file=sys.stderr, flush=True)
