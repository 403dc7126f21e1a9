"""The process between the proxy and a server: adopts whatever the server leaves behind, and ends it all with the proxy.

Run as a script by a bare interpreter (`python -I -S`): standard library, and the tree functions of `isolation.supervisor`,
which is loaded by its path because the package is not on this interpreter's.

    arguments: path of supervisor.py, a pipe's read end, the server's command line
    the pipe says   "k" end the server (SIGTERM, then SIGKILL)   "K" kill it now   end: the proxy is gone
"""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing costs milliseconds here
if TYPE_CHECKING:
    from typing import Any

_GRACE_S = (
    1.0  # between the end of standard input and SIGTERM where the proxy died, and from there to SIGKILL
)
_MAX_WAIT_S = 3600.0


def _tools(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("supervisor", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Keeper:
    """Waits for the end of the server or of the proxy, whichever comes first."""

    def __init__(self, tools: Any, pipe: int, argv: list[str]) -> None:
        self.tools, self.pipe = tools, pipe
        self.status: int | None = None
        self.term_at = self.kill_at = float("inf")
        tools.prctl(tools.PR_SET_CHILD_SUBREAPER, 1)
        self.wake, wake_end = os.pipe()
        for fd in (self.wake, wake_end):
            os.set_blocking(fd, False)
        os.set_inheritable(pipe, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.end(0.0))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.server = os.posix_spawnp(
            argv[0], argv, os.environ, setsid=True, setsigdef=[signal.SIGINT, signal.SIGPIPE]
        )
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)  # the server alone holds its pipes: their end is the server's end
        os.dup2(null, 1)

    def end(self, wait_s: float) -> None:
        """Ask the tree to end after `wait_s` seconds, and kill it a grace later."""
        now = time.monotonic()
        self.term_at = min(self.term_at, now + wait_s)
        self.kill_at = min(self.kill_at, now + wait_s + _GRACE_S)

    def run(self) -> int:
        """Serve until nothing is left; the server's exit code."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            self.reap()
            if self.status is not None:
                self.sweep()
                return self.status
            self.signal_due()
            wait_s = min(self.term_at, self.kill_at) - time.monotonic()
            ready = {fd for fd, _ in poll.poll(max(0, int(min(wait_s, _MAX_WAIT_S) * 1000)) + 1)}
            if self.wake in ready:
                os.read(self.wake, 4096)
            if self.pipe in ready and self.listen():
                poll.unregister(self.pipe)

    def listen(self) -> bool:
        """Obey the proxy; whether it is gone."""
        said = os.read(self.pipe, 16)
        if b"K" in said:
            self.kill_at = time.monotonic()
        elif b"k" in said:
            self.end(0.0)
        elif not said:
            self.end(_GRACE_S)
        return not said

    def signal_due(self) -> None:
        """Signal the tree where its time is over; again and again, for what is forked meanwhile."""
        now = time.monotonic()
        if now >= self.kill_at:
            self.tools.signal_tree(self.server, signal.SIGKILL)
            self.kill_at = now + 0.05
        elif now >= self.term_at:
            self.tools.signal_tree(self.server, signal.SIGTERM)
            self.term_at = float("inf")

    def reap(self) -> None:
        """Take note of every child that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self.server:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code

    def sweep(self) -> None:
        """Kill what the server left behind."""
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            left = self.tools.children(os.getpid())
            if not left:
                return
            for pid in left:
                self.tools.signal_tree(pid, signal.SIGKILL)
            self.reap()
            select.select([], [], [], 0.005)


def main(argv: list[str]) -> int:
    """Start the server and stay until it has ended."""
    try:
        keeper = Keeper(_tools(argv[0]), int(argv[1]), argv[2:])
    except OSError as exc:
        sys.stderr.write(f"failsoft: {argv[2]!r} cannot be run: {exc.strerror}\n")
        return 127
    return keeper.run()


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
