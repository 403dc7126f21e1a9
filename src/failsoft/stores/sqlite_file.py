"""The file of a SQLite ledger: made private, told apart from another one under its name, on a disk whose locks hold."""

from __future__ import annotations

import ctypes
import logging
import os
import secrets
import sqlite3
import sys
import time
from pathlib import Path

__all__ = ["FileWatch", "LedgerReplacedError", "make_private", "network_of"]

_log = logging.getLogger("failsoft.stores")

_LOOK_S = 1.0
# What changed just now may change again without a trace.
_BLUR_NS = 50_000_000
_NETWORKS = frozenset(
    {"afs", "ceph", "cifs", "glusterfs", "gfs2", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs"}
)
# And folders that a virtual machine shares with its host.
_NETWORK_PREFIXES = (
    "drvfs",
    "fuse.ceph",
    "fuse.gcsfuse",
    "fuse.gluster",
    "fuse.grpcfuse",
    "fuse.osxfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "prl_fs",
    "vboxsf",
)

Identity = tuple[int, int]


class LedgerReplacedError(OSError):
    """The file under the ledger's name is not the one that was opened."""


class FileWatch:
    """Which file a store works with: found out when it is opened, compared before each transaction that writes.

    A file that is deleted or replaced goes on living for whoever has it open. Claims written there would be forgotten,
    and a WAL file of one's own next to somebody else's keeps nobody out.

    One look at the folder (1 µs) says whether something was made, moved or deleted in it; the files themselves are
    looked at when it says so, and once a second, because the time of a folder's last change has steps of milliseconds.
    """

    def __init__(self, path: Path) -> None:
        self._folder = str(path.parent)
        self._names: tuple[str, ...] = (str(path),)
        self._known: tuple[Identity | None, ...] = ()
        self._seen: tuple[int, int, int] | None = None
        self._look_at = 0.0

    def expect(self) -> None:
        """Before a connection is made again: it must find the file that was there.

        Raises:
            LedgerReplacedError: There is another one, or none.
        """
        if self._known and _identity(self._names[0]) != self._known[0]:
            raise self._error(self._names[0])

    def note(self) -> None:
        """Remember the files as they are now, after they were opened."""
        main = self._known[0] if self._known else None
        if main is None and (network := network_of(self._names[0])):
            _log.warning(
                "%s is on a file system that machines share (%s); its locks and shared memory do not hold between them\n\n"
                "hint: store='postgresql://...' where more than one machine uses it",
                self._names[0],
                network,
            )
        real = os.path.realpath(self._names[0])  # SQLite puts the others beside what a link leads to
        self._names = (self._names[0], f"{real}-wal", f"{real}-shm")
        self._folder = os.path.dirname(real)
        seen = self._look()
        self._known = tuple(map(_identity, self._names))
        self._trust(seen)
        if main is not None and main != self._known[0]:
            self._known = (main, *self._known[1:])
            raise self._error(self._names[0])

    def check(self) -> None:
        """Compare.

        Raises:
            LedgerReplacedError: One of the files was deleted, moved or replaced.
        """
        now, seen = time.monotonic(), self._look()
        if not self._known or (seen == self._seen and now < self._look_at):
            return
        for name, known in zip(self._names, self._known, strict=True):
            if known is not None and _identity(name) != known:
                self._look_at = 0.0
                raise self._error(name)
        self._trust(seen)

    def _trust(self, seen: tuple[int, int, int] | None) -> None:
        is_blurred = seen is None or abs(time.time_ns() - seen[2]) < _BLUR_NS
        self._seen, self._look_at = seen, 0.0 if is_blurred else time.monotonic() + _LOOK_S

    def forget(self) -> None:
        """The store is closed: what is there when it is opened again is taken for what it is."""
        self._known, self._seen = (), None

    def leave(self, db: sqlite3.Connection) -> None:
        """Keep SQLite from tidying up where it must not: closing deletes a WAL file by its name, whoever's it is by now."""
        self._look_at = 0.0
        try:
            self.check()
        except LedgerReplacedError:
            if sys.version_info >= (3, 12):
                db.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
            else:  # never closed then; the process's end is no closing
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._folder)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns

    def _error(self, name: str) -> LedgerReplacedError:
        return LedgerReplacedError(
            f"{name} was deleted, moved or replaced while it was in use, and whatever is there now does not know what "
            "was claimed. Put it back, or stop the program and start it again without what the old file knew"
        )


def _identity(name: str) -> Identity | None:
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def make_private(path: Path) -> None:
    """An empty file of mode 0600, where there is none; SQLite would leave the mode to the umask.

    The file that SQLite reads is never opened here: closing any descriptor of a file lets go of every lock that the
    process has on it (POSIX), those of SQLite's other connections too. Another process would then find itself alone,
    and delete the WAL file that this one goes on writing to. See https://sqlite.org/howtocorrupt.html, section 2.2.
    """
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # no links on this file system; the file is there only since nobody else has made it yet
        if not path.exists():
            os.replace(draft, path)
            return
    os.unlink(draft)


def network_of(path: str | Path, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The type of the network file system that a file is on; None for a local one, and where nobody can tell.

    The files of a WAL are shared memory between processes, which no network file system offers between machines.
    """
    try:
        device = os.stat(path).st_dev
        with open(mounts, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        fields, _, rest = line.partition(" - ")
        kind = rest.partition(" ")[0]
        if fields.split()[2:3] == [wanted] and (kind in _NETWORKS or kind.startswith(_NETWORK_PREFIXES)):
            return kind
    return None
