"""Packages from npm for the tests, installed once under what git ignores."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

SECONDS = 150
TRIES = 2


def installed(folder, packages):
    """The `node_modules` with these packages; skips the test where that cannot be, but in CI fails it."""
    if sys.platform != "linux" or shutil.which("npm") is None:
        unavailable("npm is not here")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one installs, the others wait for it
        for attempt in range(1, TRIES + 1):
            if (folder / "done").is_file():
                break
            why = install(folder, packages)
            if why and attempt == TRIES:
                unavailable(why)
    return folder / "node_modules"


def install(folder, packages):
    """Fill a folder of its own and move it into place whole; what went wrong, or an empty text."""
    draft = tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", draft, *packages]
    try:
        # A process group of its own: npm's children must not go on writing after it.
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=SECONDS, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return f"npm install did not end within {SECONDS} s"
    except subprocess.CalledProcessError as exc:
        return f"npm install failed: {exc.stderr[-500:]}"
    else:
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted install left
        os.replace(draft, folder)
        (folder / "done").write_text("")
        return ""
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def unavailable(why):
    """Say so, as loudly as the place asks for."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
