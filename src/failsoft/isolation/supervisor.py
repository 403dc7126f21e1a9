"""The process that owns the workers: reaps them, kills their trees, and outlives the parent by a moment only.

Run as a script by a bare interpreter (`python -I -S`), so that it starts in milliseconds, stays small, and
never runs code of a tool: standard library only, no import of the package.

    parent ── control ── supervisor (subreaper) ── zygote: imports the tools, forks workers
       └───────────── one socket pair each ─────── worker (session leader, subreaper of its own)

Rules of this file
- A worker is written to the register before it can become a child of this process. So a child that is neither
  registered nor the zygote was left behind by a worker that ended, and is killed at once.
- While a worker lives, what it started stays below it, because a worker is a subreaper too.
- The end of a worker is told when nothing that it left behind is alive any more.
- The parent's death is seen by its process handle, by the end of the control socket, or by a new parent.
  The death signal of the kernel would not do: it fires when the *thread* that forked ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

TYPE_CHECKING = False  # importing typing costs milliseconds here
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# A kernel option; without it the whole of /proc is read, about 15 µs a process.
LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
TOLD_LATE_S = 0.5  # a process in an uninterruptible sleep must not keep its worker's end from being told


def prctl(option: int, value: int) -> None:
    """One process control of Linux; does nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def parents() -> dict[int, int]:
    """The parent of every process."""
    if not os.path.isdir("/proc/self"):
        rows = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, check=False).stdout.split()
        return dict(zip(map(int, rows[::2]), map(int, rows[1::2]), strict=False))
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name in brackets may hold anything; state and parent follow the last one.
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:  # ended meanwhile
            continue
    return found


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    if not LISTS_CHILDREN:
        return [child for child, parent in parents().items() if parent == pid]
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:  # ended meanwhile
        pass
    return found


def descendants(pid: int) -> list[int]:
    """Everything below a process, nearest first."""
    if LISTS_CHILDREN:
        below = children
    else:
        tree: dict[int, list[int]] = {}
        for child, parent in parents().items():
            tree.setdefault(parent, []).append(child)

        def below(pid: int) -> list[int]:
            return tree.get(pid, [])

    found = [pid]
    for each in found:
        found += [child for child in below(each) if child not in found]
    return found[1:]


def signal_all(pids: list[int], number: int, send: Callable[[int, int], None] = os.kill) -> None:
    """Signal processes; those that ended or belong to others are left out."""
    for pid in pids:
        try:
            send(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def signal_tree(pid: int, number: int) -> None:
    """Signal a session leader, its group, and everything below it, whichever group that went to."""
    below = descendants(pid)  # before: the children of what has ended are somebody else's
    signal_all([pid], number, os.killpg)
    signal_all([pid, *below], number)


class Supervisor:
    """The loop of the supervisor process."""

    def __init__(
        self, control: socket.socket, forge: socket.socket, parent: int, zygote_argv: list[str]
    ) -> None:
        self.control, self.forge, self.parent = control, forge, parent
        self.zygote_argv = zygote_argv
        self.zygote = 0
        self.workers: set[int] = set()
        self.deadlines: dict[int, float] = {}
        self.exits: list[tuple[float, int, int]] = []
        self.lines = b""
        self.register, self.register_end = os.pipe()
        self.wake, wake_end = os.pipe()
        for fd in (self.register, self.wake, wake_end):
            os.set_blocking(fd, False)
        self.quitting = False
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.quit)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def quit(self, *_: object) -> None:
        """End after this turn of the loop."""
        self.quitting = True

    def run(self) -> None:
        """Serve until the parent is gone or says so, then kill what is left."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        poll = select.poll()
        for fd in (self.control.fileno(), self.register, self.wake):
            poll.register(fd, select.POLLIN)
        try:
            poll.register(os.pidfd_open(self.parent), select.POLLIN)
            tick_s = 60.0
        except (AttributeError, OSError):
            tick_s = 0.5
        self.start_zygote()
        while not self.quitting:
            ready = {fd for fd, _ in poll.poll(self.timeout_ms(tick_s))}
            if os.getppid() != self.parent:
                break
            if self.control.fileno() in ready:
                self.listen()
            if self.reap() or self.exits:
                self.sweep()
            self.enforce()
        self.kill_all()

    def timeout_ms(self, tick_s: float) -> int:
        """How long to wait for something to happen."""
        now = time.monotonic()
        waits = [due - now for due in self.deadlines.values()]
        waits += [told + TOLD_LATE_S - now for told, _, _ in self.exits]
        return max(0, int(min([tick_s, *waits]) * 1000) + 1)

    def start_zygote(self) -> None:
        """Start the process that imports the tools and forks the workers."""
        own = os.getpid()
        self.zygote = os.fork()
        if self.zygote:
            return
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own:
            os._exit(1)
        for fd in (self.forge.fileno(), self.register_end):
            os.set_inheritable(fd, True)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        argv = [*self.zygote_argv, str(self.forge.fileno()), str(self.register_end), str(own)]
        try:
            os.execv(argv[0], argv)  # noqa: S606
        finally:
            os._exit(127)

    def listen(self) -> None:
        """Obey what the parent wrote."""
        try:
            data = self.control.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.quitting = True
        *lines, self.lines = (self.lines + data).split(b"\n")
        for line in lines:
            match json.loads(line):
                case ["kill", pid, after_s]:
                    self.kill(pid, after_s)
                case ["zygote", "start"]:
                    if not self.zygote:
                        self.start_zygote()
                case ["zygote", "kill"]:
                    if self.zygote:
                        os.kill(self.zygote, signal.SIGKILL)
                case _:
                    self.quitting = True

    def tell(self, *message: object) -> None:
        """Write to the parent; its end is noticed elsewhere."""
        try:
            self.control.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.quitting = True

    def kill(self, pid: int, after_s: float) -> None:
        """Ask a worker's tree to end, and kill it after `after_s` seconds."""
        if pid in self.workers:
            number = signal.SIGTERM if after_s > 0 else signal.SIGKILL
            # The group before the search for the rest, which takes milliseconds. What loses its parent meanwhile
            # comes to this process, and is swept.
            signal_all([pid], number, os.killpg)
            signal_all(descendants(pid), number)
            self.deadlines[pid] = time.monotonic() + after_s

    def enforce(self) -> None:
        """Kill the trees that had their time."""
        now = time.monotonic()
        for pid in [pid for pid, due in self.deadlines.items() if due <= now]:
            signal_tree(pid, signal.SIGKILL)
            self.deadlines[pid] = now + 0.05  # again, for what was forked meanwhile

    def reap(self) -> bool:
        """Take note of every child that ended; whether there was one."""
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            ended.append((pid, status))
        self.read_register()  # after waiting: whoever ended as a child was registered before
        for pid, status in ended:
            self.deadlines.pop(pid, None)
            if pid == self.zygote:
                self.zygote = 0
                self.forget_requests()
                self.tell("zygote", status)
            elif pid in self.workers:
                self.workers.discard(pid)
                self.exits.append((time.monotonic(), pid, status))
        return bool(ended)

    def forget_requests(self) -> None:
        """Throw away what the zygote did not read any more: the parent asks again, without what ended it."""
        while select.select([self.forge], [], [], 0)[0]:
            data, fds, _, _ = socket.recv_fds(self.forge, 65536, 16)  # takes flags, and ignores them
            for fd in fds:
                os.close(fd)
            if not data:
                return

    def read_register(self) -> None:
        """Learn of new workers, and pass them on."""
        for fd in (self.wake, self.register):
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                continue
            if fd == self.register:
                for line in data.decode().splitlines():
                    token, pid = map(int, line.split())
                    if pid > 0:  # else the system refused another process
                        self.workers.add(pid)
                    self.tell("up", token, pid)

    def sweep(self) -> None:
        """Kill what ended workers left behind, then tell of their end."""
        present = children(os.getpid())
        self.read_register()
        left = [pid for pid in present if pid not in self.workers and pid != self.zygote]
        for pid in left:
            signal_tree(pid, signal.SIGKILL)
        now = time.monotonic()
        for exit_ in list(self.exits):
            if not left or exit_[0] + TOLD_LATE_S <= now:
                self.exits.remove(exit_)
                self.tell("exit", *exit_[1:])

    def kill_all(self) -> None:
        """Kill everything below, and wait for it for two seconds at most."""
        until = time.monotonic() + 2
        while time.monotonic() < until:
            for pid in children(os.getpid()):
                signal_tree(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    continue
            except ChildProcessError:
                return
            select.select([self.wake], [], [], 0.005)


def main(argv: list[str]) -> None:
    """Arguments: control socket, forge socket, the parent's id, then the zygote's command line."""
    control, forge = (socket.socket(fileno=int(fd)) for fd in argv[:2])
    for sock in (control, forge):
        sock.set_inheritable(False)  # a grandchild that holds `control` would hide this process's end
    Supervisor(control, forge, int(argv[2]), argv[3:]).run()


if __name__ == "__main__":
    main(sys.argv[1:])
