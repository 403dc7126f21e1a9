"""A client on this process's standard input and output, and the loop that serves it until it leaves."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import stat
import sys
import threading
from typing import TYPE_CHECKING

from failsoft.adapters.mcp.lines import Lines, LineTooLong

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from failsoft.adapters.mcp.wire import Message

    class Server(Protocol):
        """Whoever serves a client."""

        def from_client(self, line: bytes) -> None:
            """One line from the client."""
            ...

        def client_blocked(self, blocked: bool) -> None:
            """The client does not read, or reads again."""
            ...

        async def drain(self, wait_s: float) -> None:
            """Let what is under way end."""
            ...


__all__ = ["StdioClient", "take_stdio"]

log = logging.getLogger("failsoft.mcp")

DRAIN_S = 5.0


def take_stdio() -> tuple[int, int]:
    """Standard input and output for the protocol alone; whatever else prints goes to standard error.

    Returns:
        Descriptors to read from and to write to.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


class StdioClient(asyncio.Protocol):
    """The way to and from the client.

    Args:
        source: Descriptor that the client writes to.
        sink: Descriptor that it reads from.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._lines = Lines()
        self._server: Server | None = None
        self._left = asyncio.Event()
        self._killed = False
        self._read: asyncio.ReadTransport | None = None
        self._write: asyncio.WriteTransport | _File | None = None

    # ---- the client's side of a session ----

    def send(self, line: bytes, message: Message | None) -> None:
        """Write one message; a client that is gone hears nothing."""
        if self._write is not None and not self._write.is_closing():
            self._write.write(line)

    def pause(self, paused: bool) -> None:
        """Stop reading, or go on."""
        if self._read is not None and not self._read.is_closing():
            if paused:
                self._read.pause_reading()
            else:
                self._read.resume_reading()

    # ---- what asyncio tells ----

    def data_received(self, data: bytes) -> None:
        """Hand whole lines on."""
        server = self._server
        assert server is not None
        try:
            for line in self._lines.feed(data):
                server.from_client(line)
        except LineTooLong as exc:
            log.warning("the client sent %s; it is not served any more", exc)
            self._left.set()

    def eof_received(self) -> bool:
        """The client has closed its output."""
        rest = self._lines.rest()
        if rest.strip() and self._server is not None:
            self._server.from_client(rest)
        self._left.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The same, less politely."""
        self._left.set()

    # ---- serving ----

    async def serve(self, server: Server) -> bool:
        """Serve until the client leaves or a signal comes; False where it was a signal."""
        self._server = server
        loop = asyncio.get_running_loop()
        if stat.S_ISREG(os.fstat(self._sink).st_mode):
            self._write = _File(self._sink)
        else:
            writer = _Writer(server.client_blocked, self._left.set)
            self._write, _ = await loop.connect_write_pipe(lambda: writer, os.fdopen(self._sink, "wb", 0))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._kill)
        try:
            await self._listen(loop)
            await self._left.wait()
            if not self._killed:
                await server.drain(DRAIN_S)
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)
            if self._read is not None:
                self._read.close()
        return not self._killed

    async def close(self) -> None:
        """Write what is left, for a second at most."""
        if self._write is None:
            return
        until = asyncio.get_running_loop().time() + 1.0
        while self._write.get_write_buffer_size() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        self._write.abort()

    def _kill(self) -> None:
        self._killed = True
        self._left.set()

    async def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        if stat.S_ISREG(os.fstat(self._source).st_mode):
            # asyncio takes pipes, sockets and terminals only; a file is read at once.
            threading.Thread(target=self._read_file, args=(loop,), daemon=True).start()
            return
        self._read, _ = await loop.connect_read_pipe(lambda: self, os.fdopen(self._source, "rb", 0))

    def _read_file(self, loop: asyncio.AbstractEventLoop) -> None:
        with os.fdopen(self._source, "rb") as file:
            for line in file:
                loop.call_soon_threadsafe(self.data_received, line)
        loop.call_soon_threadsafe(self.eof_received)


class _File:
    """A file to write to, as a transport: asyncio takes pipes, sockets and terminals only, and a file never blocks."""

    def __init__(self, sink: int) -> None:
        self._file = os.fdopen(sink, "wb", 0)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def is_closing(self) -> bool:
        return self._file.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self._file.close()


class _Writer(asyncio.Protocol):
    """Hears whether the client reads."""

    def __init__(self, blocked: Callable[[bool], object], left: Callable[[], object]) -> None:
        self._blocked, self._left = blocked, left

    def pause_writing(self) -> None:
        self._blocked(True)

    def resume_writing(self) -> None:
        self._blocked(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
