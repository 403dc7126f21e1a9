"""What stands beside the killed process and is not killed: servers on loopback ports, and where they come from."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["database", "free_port", "running", "wait_for_port"]

START_S = 30.0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, seconds: float = START_S) -> None:
    """Return when somebody listens there.

    Raises:
        TimeoutError: Nobody does after `seconds`.
    """
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"nobody listens on port {port} after {seconds:g} s")
        time.sleep(0.02)


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server for the time of the block."""
    with log.open("ab") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=log.parent)
    try:
        yield server
    finally:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextlib.contextmanager
def database(store: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The address of an empty database: `SQLite`, or a `PostgreSQL` server of its own.

    The server does not sync to the disk: a killed client loses nothing by that, and all systems have the same.

    Raises:
        LookupError: There is no PostgreSQL on this machine.
    """
    if store == "SQLite":
        yield {"url": f"sqlite:///{folder / 'store.db'}"}
        return
    from tests.stores.server import running_server

    with running_server() as server:
        yield {"url": server.url}
