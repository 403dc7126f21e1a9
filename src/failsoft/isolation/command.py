"""Commands that a tool runs: the whole tree ended at the deadline, the output bounded.

`subprocess.run(timeout=...)` kills the process that it started and then waits for the pipe, which a grandchild may
hold open for hours.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from failsoft.core.context import current_call
from failsoft.core.errors import NotFound, PermissionDenied, ToolTimeout, UsageError
from failsoft.core.kinds import Effect
from failsoft.isolation.supervisor import descendants, parents, signal_all, signal_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from failsoft.core.errors import AgentError

__all__ = ["Finished", "run", "run_sync"]

MARK = "FAILSOFT_TREE"
"""Environment variable by which a process is known that left its session and lost its parents."""

_DRAIN_S = 0.25  # for output that is still in the pipe when the command has ended
_SHOWN_BYTES = 2000  # of each stream in a time-out's error


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that ended by itself.

    Args:
        argv: What was run.
        returncode: 0 for success; below 0 the signal that ended it.
        stdout: Standard output, up to `max_output_bytes`.
        stderr: Standard error, up to `max_output_bytes`.
        stdout_cut: Bytes of standard output that were not kept.
        stderr_cut: Bytes of standard error that were not kept.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    stdout_cut: int = 0
    stderr_cut: int = 0

    @property
    def ok(self) -> bool:
        """Whether the command says that it succeeded."""
        return self.returncode == 0

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are shown as such."""
        return self.stdout.decode("utf-8", "backslashreplace")


class _Stream:
    """Keeps the begin of what comes, counts the rest."""

    __slots__ = ("cut", "kept", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.cut = limit, 0
        self.kept = bytearray()

    def take(self, data: bytes) -> None:
        room = self.limit - len(self.kept)
        self.kept += data[:room]
        self.cut += len(data) - min(len(data), room)


class _Tree(asyncio.SubprocessProtocol):
    """A command with everything that it starts."""

    def __init__(self, max_output_bytes: int) -> None:
        self.out, self.err = _Stream(max_output_bytes), _Stream(max_output_bytes)
        self.mark = secrets.token_hex(8)
        self.exited, self.closed = asyncio.Event(), asyncio.Event()
        self.transport: asyncio.SubprocessTransport | None = None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.out if fd == 1 else self.err).take(data)

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()

    async def start(
        self,
        words: tuple[str, ...],
        input: bytes | str | None,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
    ) -> None:
        """Start the command in a session of its own."""
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.subprocess_exec(
            lambda: self,
            *words,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            cwd=cwd,
            env={**(os.environ if env is None else env), MARK: self.mark},
            start_new_session=True,
        )
        stdin = self.transport.get_pipe_transport(0)
        if input is not None and isinstance(stdin, asyncio.WriteTransport):
            stdin.write(input.encode() if isinstance(input, str) else input)
            stdin.write_eof()

    async def wait(self) -> int:
        """Wait for the end of the command, not for whoever else holds its pipes."""
        await self.exited.wait()
        try:
            async with asyncio.timeout(_DRAIN_S):
                await self.closed.wait()
        except TimeoutError:
            pass
        assert self.transport is not None
        return self.transport.get_returncode() or 0

    async def end(self, after_s: float) -> None:
        """End what is left: SIGTERM, and SIGKILL after `after_s` seconds."""
        for number, wait_s in ((signal.SIGTERM, after_s), (signal.SIGKILL, 1.0)):
            until = time.monotonic() + wait_s
            if not self._signal(number):
                return
            while time.monotonic() < until and self._members():  # noqa: ASYNC110 - nobody tells of others' children
                await asyncio.sleep(0.01)

    def _signal(self, number: int) -> list[int]:
        members = self._members()
        if self.transport is not None and not self.exited.is_set():
            signal_tree(self.transport.get_pid(), number)
        signal_all(members, number)
        return members

    def _members(self) -> list[int]:
        """What is alive of the tree, by the mark that everything inherits, and what stands below the command."""
        marked = [pid for pid in parents() if self._is_marked(pid)]
        if self.transport is None or self.exited.is_set():
            return marked
        pid = self.transport.get_pid()
        return list({pid, *descendants(pid), *marked})

    def _is_marked(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                return f"{MARK}={self.mark}".encode() in file.read().split(b"\0")
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the pipes."""
        if self.transport is not None:
            self.transport.close()


async def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout_s: float | None = None,
    input: bytes | str | None = None,
    max_output_bytes: int = 1 << 20,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    kill_after_s: float = 0.2,
) -> Finished:
    """Run a command and wait for its end. No shell: `argv` is a list.

    The command has a session of its own. At the end of its time, and when the caller is cancelled, it is ended with
    everything that it started: SIGTERM, and SIGKILL after `kill_after_s` seconds. What a command leaves in the
    background when it ends by itself is left alone.

    Args:
        argv: Program and arguments.
        timeout_s: Seconds; default: what the current call has left, without one no limit.
        input: What the command reads from standard input; nothing by default.
        max_output_bytes: Kept of each stream; the rest is read and counted.
        cwd: Where it runs.
        env: Its whole environment; default: this process's.
        kill_after_s: Seconds between SIGTERM and SIGKILL.

    Raises:
        ToolTimeout: It had not ended in time; what it wrote is in the error's context.
        NotFound: No such program, or no such folder.
        PermissionDenied: The program cannot be run.
        UsageError: `argv` is a string or empty.
    """
    if isinstance(argv, str | bytes) or not argv:
        raise UsageError(
            f"argv must be a list of the program and its arguments, got {argv!r}\n\nhint: no shell is used"
        )
    words = tuple(os.fspath(word) for word in argv)
    call = current_call.get()
    left_s = float("inf") if call is None else call.remaining_s
    limit_s = left_s if timeout_s is None else min(timeout_s, left_s)
    tree = _Tree(max_output_bytes)
    try:
        async with asyncio.timeout(None if limit_s == float("inf") else limit_s):
            await tree.start(words, input, cwd, env)
            returncode = await tree.wait()
    except BaseException as exc:
        await tree.end(kill_after_s)
        told = _told(exc, words, limit_s, tree)
        if told is None:
            raise
        raise told from exc
    finally:
        tree.close()
    return Finished(
        argv=words,
        returncode=returncode,
        stdout=bytes(tree.out.kept),
        stderr=bytes(tree.err.kept),
        stdout_cut=tree.out.cut,
        stderr_cut=tree.err.cut,
    )


def _told(exc: BaseException, words: tuple[str, ...], limit_s: float, tree: _Tree) -> AgentError | None:
    """What kept a command from its end, in the words of a run; None where the exception says it itself."""
    if isinstance(exc, FileNotFoundError):
        return NotFound(f"There is no {exc.filename or words[0]!r} to run.", reason="no_program")
    if isinstance(exc, PermissionError) or (isinstance(exc, OSError) and exc.errno == errno.ENOEXEC):
        return PermissionDenied(f"{words[0]!r} may not be run.", reason="not_executable")
    if not isinstance(exc, TimeoutError):
        return None
    return ToolTimeout(
        f"{os.path.basename(words[0])!r} did not end within {limit_s:g} s; it was stopped with all that it started.",
        reason="command_timeout",
        effect=Effect.NONE if tree.transport is None else Effect.POSSIBLE,
        context={
            name: _end_of(stream)
            for name, stream in (("stdout", tree.out), ("stderr", tree.err))
            if stream.kept
        },
    )


def _end_of(stream: _Stream) -> str:
    return bytes(stream.kept[-_SHOWN_BYTES:]).decode("utf-8", "backslashreplace")


def run_sync(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout_s: float | None = None,
    input: bytes | str | None = None,
    max_output_bytes: int = 1 << 20,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    kill_after_s: float = 0.2,
) -> Finished:
    """The same as `run`, for plain functions; not in the thread of a running event loop.

    Raises:
        UsageError: An event loop is running in this thread.
    """
    if asyncio._get_running_loop() is not None:
        raise UsageError(
            "run_sync would block the event loop of this thread\n\nhint: await failsoft.subprocess.run(...)"
        )
    return asyncio.run(
        run(
            argv,
            timeout_s=timeout_s,
            input=input,
            max_output_bytes=max_output_bytes,
            cwd=cwd,
            env=env,
            kill_after_s=kill_after_s,
        )
    )
