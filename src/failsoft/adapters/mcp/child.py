"""A server as a child process: its standard input and output are the connection, its standard error is ours."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from failsoft.adapters.mcp import keeper
from failsoft.adapters.mcp.lines import Lines, LineTooLong
from failsoft.core.errors import NotFound, Unavailable
from failsoft.core.kinds import Effect
from failsoft.isolation import supervisor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from failsoft.adapters.mcp.transport import Receiver
    from failsoft.adapters.mcp.wire import Message

__all__ = ["Child"]

# The protocol's order of shutting down: close standard input, wait, then signals.
_LEAVE_S = 2.0
_KILLED_S = 4.0
_EXIT_CODE_S, _LAST_WORDS_S = 0.1, 0.2


class Child(asyncio.SubprocessProtocol):
    """One run of a server.

    Args:
        argv: Its command line.
        env: Added to this process's environment.
        cwd: Where it runs; default here.
        stderr: Where its standard error goes: a file descriptor; default this process's.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stderr: int | None = None,
    ) -> None:
        self.argv, self.env, self.cwd, self.stderr = list(argv), dict(env or {}), cwd, stderr
        self._lines = Lines()
        self._exited = asyncio.Event()
        self._ended = self._silent = False
        self._leash: int | None = None
        self._receiver: Receiver | None = None
        self._transport: asyncio.SubprocessTransport | None = None

    async def open(self, receiver: Receiver) -> None:
        """Start it.

        Raises:
            NotFound: There is no such program.
            Unavailable: The system refuses to start it.
        """
        environment = {**os.environ, **self.env}
        if shutil.which(self.argv[0], path=environment.get("PATH")) is None:
            raise NotFound(f"There is no {self.argv[0]!r} to run.", reason="no_program", effect=Effect.NONE)
        self._receiver = receiver
        loop = asyncio.get_running_loop()
        read_end = None
        words = self.argv
        if os.name == "posix":
            read_end, self._leash = os.pipe()
            os.set_blocking(self._leash, False)
            words = [sys.executable, "-I", "-S", keeper.__file__, supervisor.__file__, str(read_end), *words]
        try:
            self._transport, _ = await loop.subprocess_exec(
                lambda: self,
                *words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                env=environment,
                cwd=self.cwd,
                start_new_session=True,
                pass_fds=() if read_end is None else (read_end,),
            )
        except OSError as exc:
            self._let_go()
            raise Unavailable(
                f"{self.argv[0]!r} cannot be started: {exc.strerror}.",
                reason="not_started",
                effect=Effect.NONE,
            ) from exc
        finally:
            if read_end is not None:
                os.close(read_end)

    # ---- what asyncio tells ----

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Hand whole lines on."""
        receiver = self._receiver
        if receiver is None:
            return
        try:
            for line in self._lines.feed(data):
                receiver.on_line(line)
        except LineTooLong as exc:
            self._end(f"it wrote {exc}")
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """A server that closes its output answers nothing any more, whether it lives or not."""
        if fd == 1:
            self._silent = True
            if self._exited.is_set():
                self._end("it ended")
            else:  # a moment for the exit code, which says more
                self._end_in(_EXIT_CODE_S, "it closed its standard output")

    def process_exited(self) -> None:
        """Told by asyncio once."""
        self._exited.set()
        if self._silent:
            self._end("it ended")
        else:  # what it wrote last is still in the pipe
            self._end_in(_LAST_WORDS_S, "it ended")

    def _end_in(self, wait_s: float, why: str) -> None:
        asyncio.get_running_loop().call_later(wait_s, self._end, why)

    def pause_writing(self) -> None:
        """The server does not read."""
        if self._receiver is not None:
            self._receiver.on_blocked(True)

    def resume_writing(self) -> None:
        """It reads again."""
        if self._receiver is not None:
            self._receiver.on_blocked(False)

    def _end(self, why: str) -> None:
        if not self._ended and self._receiver is not None:
            self._ended = True
            code = None if self._transport is None else self._transport.get_returncode()
            self._receiver.on_end(why if code is None else f"it ended with exit code {code}")

    # ---- what the link asks ----

    def send(self, line: bytes, message: Message) -> None:
        """Write one message.

        Raises:
            ConnectionError: The process is gone.
        """
        pipe = None if self._transport is None else self._transport.get_pipe_transport(0)
        if self._ended or not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
            raise ConnectionResetError("the server has ended")
        pipe.write(line)

    def pause(self, paused: bool) -> None:
        """Stop reading its output, or go on."""
        pipe = None if self._transport is None else self._transport.get_pipe_transport(1)
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            if paused:
                pipe.pause_reading()
            else:
                pipe.resume_reading()

    @property
    def pid(self) -> int | None:
        """The keeper's process id; None where it does not run."""
        return None if self._transport is None or self._exited.is_set() else self._transport.get_pid()

    def kill(self) -> None:
        """Kill the whole tree at once."""
        self._say(b"K")

    def _say(self, word: bytes) -> None:
        if self._leash is not None:
            try:
                os.write(self._leash, word)
            except OSError:  # the keeper has ended
                pass
        elif self._transport is not None and not self._exited.is_set():
            self._transport.kill()

    def _let_go(self) -> None:
        if self._leash is not None:
            os.close(self._leash)
            self._leash = None

    async def close(self) -> None:
        """Close its input, wait, end its tree."""
        transport, self._ended = self._transport, True
        if transport is None:
            return
        self.pause(False)  # what does not fit into a pipe keeps a process from ending
        pipe = transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.close()
        for word, wait_s in ((b"", _LEAVE_S), (b"k", _KILLED_S), (b"K", 1.0)):
            if word:
                self._say(word)
            if await self._has_exited(wait_s):
                break
        self._let_go()
        transport.close()

    async def _has_exited(self, wait_s: float) -> bool:
        try:
            async with asyncio.timeout(wait_s):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True
