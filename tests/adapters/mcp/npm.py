"""Packages from npm for the tests, installed once under what git ignores."""

import os
import shutil
import subprocess
import sys

import pytest

SECONDS = 150


def installed(folder, packages):
    """The `node_modules` with these packages; skips the test where that cannot be, but in CI fails it."""
    if sys.platform != "linux" or shutil.which("npm") is None:
        unavailable("npm is not here")
    if not (folder / "done").is_file():
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted install left
        folder.mkdir(parents=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            unavailable(f"npm install did not end within {SECONDS} s")
        except subprocess.CalledProcessError as exc:
            unavailable(f"npm install failed: {exc.stderr[-500:]}")
        (folder / "done").write_text("")
    return folder / "node_modules"


def unavailable(why):
    """Say so, as loudly as the place asks for."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
