"""The parent's end of one worker: its socket, in the event loop that uses it now."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

from failsoft.isolation import _frames as frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.isolation._job import ProcessJob

__all__ = ["Handle", "in_loop"]

log = logging.getLogger("failsoft.isolation")


class Handle:
    """One worker. Read and written in the thread of its loop only; the other fields are under the runner's lock.

    The socket stays registered between calls: adding it to a selector and taking it out costs as much as the call.

    Args:
        token: Names the worker before it has a process id.
        born: Monotonic time.
        on_done: Called with the handle and whether the worker ends, when its call has its answer.
    """

    __slots__ = (
        "_buffer",
        "_left",
        "_out",
        "_sock",
        "born",
        "calls",
        "condemned",
        "dying",
        "job",
        "loop",
        "on_done",
        "pid",
        "token",
        "unread",
    )

    def __init__(self, token: int, born: float, on_done: Callable[[Handle, bool], None]) -> None:
        self.token, self.born, self.on_done = token, born, on_done
        self.pid = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.job: ProcessJob | None = None
        self.calls = 0
        self.dying = False  # not to be given another call
        self.condemned = False  # killed by us
        self.unread = False  # ended before it had read what was written to it
        self._buffer = bytearray()
        self._out: memoryview | None = None
        self._left: list[tuple[asyncio.AbstractEventLoop, socket.socket]] = []

    def open(self) -> socket.socket:
        """Make the socket pair; the worker's end, for the caller to hand over and close."""
        self._sock, other = socket.socketpair()
        self._sock.setblocking(False)
        return other

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Move to an event loop, that of the calling thread.

        Each loop gets a descriptor of its own: the one that is left is closed by its own loop, after it was taken out
        there, so that its number cannot come back while a selector still knows it.

        Raises:
            OSError: The worker is gone.
        """
        if self.loop is loop:
            return
        old_loop, old_sock = self.loop, self._sock
        if old_loop is not None:
            self._sock = old_sock.dup()
        self.loop = loop
        loop.add_reader(self._sock.fileno(), self._on_readable, loop)
        self._close_left()
        if old_loop is not None:
            self._left.append((old_loop, old_sock))
            if not in_loop(old_loop, _drop, old_loop, old_sock):
                self._close_left()

    def _close_left(self) -> None:
        """Close the descriptors of loops that ended before they could do it: a callback may never have had its turn."""
        for _, sock in [pair for pair in self._left if pair[0].is_closed()]:
            sock.close()
        self._left = [pair for pair in self._left if pair[1].fileno() >= 0]

    def send(self, data: bytes) -> None:
        """Write a request, now as far as the socket takes it, the rest when it takes more.

        Raises:
            OSError: The worker is gone, and nothing was written.
        """
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._out = memoryview(data)[sent:]
            assert self.loop is not None, "attached before"
            self.loop.add_writer(self._sock.fileno(), self._on_writable, self.loop)

    def _on_writable(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._out is not None:
            try:
                self._out = self._out[self._sock.send(self._out) :]
            except BlockingIOError:
                return
            except OSError:
                self._out = None  # its end is told by the supervisor
        if not self._out:
            self._out = None
            loop.remove_writer(self._sock.fileno())

    def _on_readable(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is not self.loop:
            return  # the last event of a loop that it has left
        if not self._receive():
            loop.remove_reader(self._sock.fileno())  # its end is told by the supervisor

    def _receive(self) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            data = self._sock.recv(8192 if not self._buffer else 1 << 20)
        except (BlockingIOError, InterruptedError):
            return True
        except ConnectionResetError:
            # How Linux tells that the other end was closed with data in it: the body never began.
            self.unread = True
            return False
        except OSError:
            return False
        if not self._buffer and len(data) == frames.HEAD + int.from_bytes(data[: frames.HEAD], "big"):
            self._take(data[frames.HEAD :])
            return True
        self._buffer += data
        for frame in frames.split(self._buffer):
            self._take(frame)
        return bool(data)

    def _take(self, frame: bytes) -> None:
        job = self.job
        if job is not None and job.on_frame(frame[:1], frame[2:]):
            self.on_done(self, frame[1:2] == b"\1")

    def end(self, status: int) -> None:
        """The worker has ended: take what it still wrote, then tell its job."""
        self._sock.setblocking(False)
        while True:
            before = len(self._buffer), self.job
            try:
                alive = self._receive()
            except ValueError:  # closed already
                break
            if not alive or (len(self._buffer), self.job) == before:
                break
        if self.loop is not None and not self.loop.is_closed() and self._sock.fileno() >= 0:
            self.loop.remove_reader(self._sock.fileno())
            self.loop.remove_writer(self._sock.fileno())
        self.loop = None
        self._sock.close()
        self._close_left()
        if self.job is not None:
            in_loop(self.job.loop, self.job.on_exit, self, status)

    def let_go(self) -> None:
        """Have an idle worker end by itself: it sees the end of its socket."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            log.debug("a worker ended before it was told to")

    def __repr__(self) -> str:
        return f"Handle(pid={self.pid}, calls={self.calls}, busy={self.job is not None}, dying={self.dying})"


def in_loop(loop: asyncio.AbstractEventLoop | None, fn: Callable[..., Any], *args: Any) -> bool:
    """Call in the thread of a loop, at once where that is this one; False where the loop is gone."""
    if loop is None or loop.is_closed():
        return False
    if asyncio._get_running_loop() is loop:
        fn(*args)
        return True
    try:
        loop.call_soon_threadsafe(fn, *args)
    except RuntimeError:
        return False
    return True


def _drop(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
    loop.remove_reader(sock.fileno())
    sock.close()
