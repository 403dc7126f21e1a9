"""The processes below the supervisor: the zygote, which imports the tools, and the workers that it forks.

A worker serves one call at a time. It obeys SIGTERM by raising in the body, so that its cleanup runs; what does not
end then is killed from outside.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import secrets
import signal
import socket
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from failsoft.core import context
from failsoft.isolation._worker import FoundBody, Worker
from failsoft.isolation.importable import Address
from failsoft.isolation.supervisor import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BOOT", "LOADING", "main"]

LOADING = "FAILSOFT_LOADING"
"""Environment variable that is set while the zygote imports tools: a script without a guard must not begin again."""

BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from failsoft.isolation.child import main; main()"
"""What a fresh interpreter runs; arguments: the import path as JSON, then those of `main`."""


def main() -> None:
    """Arguments: import path, then either `worker`, options, socket, supervisor; or settings, forge, register, supervisor."""
    first, *rest = sys.argv[2:]
    if first == "worker":
        options, sock, supervisor = json.loads(rest[0]), int(rest[1]), int(rest[2])
        serve(sock, supervisor, options, {})
    else:
        Zygote(json.loads(first), *map(int, rest)).run()


class Zygote:
    """Imports the tools once, and forks workers that have them.

    Args:
        settings: `argv` for the tools to see, `stdout` as `ProcessRunner` takes it.
        forge: Socket on which the parent asks for workers.
        register: Pipe on which the supervisor learns of them.
        supervisor: The supervisor's id.
    """

    def __init__(self, settings: Mapping[str, Any], forge: int, register: int, supervisor: int) -> None:
        self.path = sys.argv[1]
        self.bodies: dict[tuple[str, str], FoundBody] = {}
        sys.argv = list(settings["argv"])
        self.forge = socket.socket(fileno=forge)
        self.register, self.supervisor = register, supervisor
        for fd in (forge, register):
            os.set_inheritable(fd, False)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(2 if settings["stdout"] == "stderr" else null, 1)
        os.close(null)
        # A fork beside threads is met below by a fresh interpreter.
        warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)

    def run(self) -> None:
        """Obey until the parent is gone."""
        rest, fds = b"", list[int]()
        while True:
            data, received, _, _ = socket.recv_fds(self.forge, 65536, 16)
            if not data:
                os._exit(0)
            fds += received
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                match json.loads(line):
                    case ["load", module, qualname, script]:
                        self.load(Address(module=module, qualname=qualname, script=script))
                    case ["fork", token, options]:
                        self.fork(token, options, fds.pop(0))

    def load(self, address: Address) -> None:
        """Import a tool; a failure is told by the worker that is asked to run it."""
        os.environ[LOADING] = "1"
        with contextlib.suppress(Exception, SystemExit):
            self.bodies[address.module, address.qualname] = FoundBody(address)
        os.environ.pop(LOADING, None)
        gc.collect()
        gc.freeze()  # so that the collector of a worker does not touch, and thereby copy, what is shared

    def fork(self, token: int, options: Mapping[str, Any], sock: int) -> None:
        """Make a worker whose parent is the supervisor, by way of a process that ends at once."""
        os.set_inheritable(sock, False)
        fresh = _threads() > 1  # locks that other threads hold stay locked in a fork
        middle = -1
        with contextlib.suppress(OSError):
            middle = os.fork()
        if middle == 0:
            try:
                worker = os.fork()
            except OSError:
                worker = -1
            if worker == 0:
                self.become_worker(options, sock, fresh)
            os.write(self.register, b"%d %d\n" % (token, worker))
            os._exit(0)
        os.close(sock)
        if middle == -1:
            os.write(self.register, b"%d -1\n" % token)
        else:
            os.waitpid(middle, 0)

    def become_worker(self, options: Mapping[str, Any], sock: int, fresh: bool) -> None:
        """Leave everything of the zygote behind; never returns."""
        try:
            os.close(self.register)
            self.forge.close()
            if fresh:
                os.set_inheritable(sock, True)
                end = ["worker", json.dumps(options), str(sock), str(self.supervisor)]
                os.execv(sys.executable, [sys.executable, "-c", BOOT, self.path, *end])  # noqa: S606
            serve(sock, self.supervisor, options, self.bodies)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def serve(
    sock: int, supervisor: int, options: Mapping[str, Any], bodies: dict[tuple[str, str], FoundBody]
) -> None:
    """Be a worker until the socket ends."""
    os.setsid()
    os.set_inheritable(sock, False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    until = time.monotonic() + 5
    while os.getppid() != supervisor:
        if time.monotonic() > until:
            os._exit(1)
        os.sched_yield() if hasattr(os, "sched_yield") else None
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    random.seed()
    context._process = secrets.token_hex(4)  # ids made here must differ from those of other workers
    Worker(socket.socket(fileno=sock), options, bodies).run()
