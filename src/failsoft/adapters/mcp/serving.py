"""HTTP on a port of this machine: a bound socket, and uvicorn without its own signal handlers."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Final

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette

__all__ = ["Server", "bound"]

_BACKLOG: Final = 2048


class Server(uvicorn.Server):
    """Serves an application on a socket that is bound already, until whoever started it sets `should_exit`.

    It leaves signals alone: its own handling would end the process before the end of the servers behind was seen to.

    Args:
        app: The application.
    """

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=2)
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None of them."""
        yield


def bound(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 takes a free one.

    Raises:
        OSError: The port cannot be had.
    """
    # With the protocol named asyncio has connections send at once; without it each answer waits 40 ms for another packet.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock
