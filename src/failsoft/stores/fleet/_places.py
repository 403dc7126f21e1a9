"""One prober for each machine, also while the store is away: a file lock, which the system takes back from the dead."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["Place", "Places"]

# Files are never removed, because removing a locked file races with those who open it. So there are only so many of
# them; two breakers that share one refuse each other a probe for a moment, which is harmless.
_FILES = 1_024


class Place:
    """A lock that is held until `leave()`; without a file where the system has no such locks."""

    __slots__ = ("_file",)

    def __init__(self, file: int | None = None) -> None:
        self._file = file

    def leave(self) -> None:
        """Give it back; doing it twice does nothing."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __del__(self) -> None:
        self.leave()


class Places:
    """The locks of one fleet on this machine.

    Args:
        fleet: Tells this fleet from others.
    """

    __slots__ = ("_fleet", "_folder")

    def __init__(self, fleet: str) -> None:
        self._fleet = fleet
        self._folder = _folder()

    def take(self, member: str) -> Place | None:
        """The place of one breaker; None while another process or harness of this machine has it."""
        if self._folder is None:
            return Place()
        digest = hashlib.sha256(f"{self._fleet}\n{member}".encode(errors="replace")).digest()
        path = self._folder / f"probe-{int.from_bytes(digest[:4]) % _FILES}.lock"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return Place()  # no such folder any more, or no room: as if there were no locks
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        except OSError:
            os.close(file)
            return Place()
        return Place(file)


def _folder() -> Path | None:
    """A folder of this user's own in the place for temporary files; None where there can be none."""
    if sys.platform == "win32":
        return None
    path = Path(tempfile.gettempdir()) / f"failsoft-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    # Somebody else may have made it first, and could then hold every lock.
    return path if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() else None
