"""Fetches what a benchmark needs and the project does not contain, into `.bench/`: pinned, whole, and once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bench.measure import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["from_npm", "from_pip"]

CACHE = ROOT / ".bench"


def from_pip(name: str, packages: tuple[str, ...]) -> Path:
    """The folder of Python packages, without what they require themselves.

    Raises:
        LookupError: They could not be fetched.
    """
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
    return _fetched(name, lambda draft: [*command, draft, *packages])


def from_npm(package: str) -> Path:
    """The `node_modules` with a package of a pinned version.

    Raises:
        LookupError: npm is missing, or could not fetch it.
    """
    if shutil.which("npm") is None:
        raise LookupError("npm is not on PATH")
    name = f"npm/{package.replace('/', '-').replace('@', '').strip('-')}"
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
    return _fetched(name, lambda draft: [*command, draft, package]) / "node_modules"


def _fetched(name: str, command: Callable[[str], list[str]]) -> Path:
    """The folder, filled by a command when it is not there: whole or not at all, whoever else fetches it now."""
    folder = CACHE / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    (CACHE / ".gitignore").write_text("*\\n", encoding="utf-8")
    with _alone(folder.with_name(folder.name + ".lock")):
        if not folder.is_dir():
            draft = tempfile.mkdtemp(dir=folder.parent)
            done = subprocess.run(command(draft), capture_output=True, text=True, check=False, timeout=600)
            if done.returncode:
                shutil.rmtree(draft)
                raise LookupError(f"could not fetch {name}: {done.stderr[-300:]}")
            os.replace(draft, folder)
    return folder


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time, where the system has such locks."""
    with lock.open("w") as file:
        try:
            import fcntl
        except ImportError:
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
