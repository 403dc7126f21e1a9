"""A PostgreSQL server for the tests that need one, started as an ordinary user and ended by its process id."""

import os
import shutil
import signal
import subprocess
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
        for _ in range(100):
            if (
                subprocess.run([self.bin_dir / "pg_isready", "-q", "-h", self.home], check=False).returncode
                == 0
            ):
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


def _bin_dir() -> Path | None:
    found = shutil.which("postgres")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return versions[-1].parent if versions else None


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server; skipped where there is none, but never in CI."""
    bin_dir = _bin_dir()
    if bin_dir is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs PostgreSQL: apt-get install postgresql")
        pytest.skip("no PostgreSQL: apt-get install postgresql")
    # Not below pytest's own directory: a socket's path is short, and the server's user must reach it.
    home = Path("/tmp") / f"failsoft-pg-{os.getpid()}"
    home.mkdir(mode=0o700)
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "nobody"
        shutil.chown(home, user)
    server = Server(bin_dir, home, user)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(home)
