"""The parent's end of the supervisor: starts it, asks for workers and kills, hears of what became of them."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.core.errors import UsageError
from failsoft.isolation import supervisor
from failsoft.isolation.child import BOOT, LOADING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.isolation.importable import Address

__all__ = ["Link", "Listener"]

log = logging.getLogger("failsoft.isolation")


class Listener(Protocol):
    """Hears of workers; called from the link's thread."""

    def worker_up(self, token: int, pid: int) -> None:
        """A worker exists; -1 for one that the system refused."""

    def worker_exit(self, pid: int, status: int) -> None:
        """A worker has ended, and everything below it."""

    def zygote_exit(self, status: int) -> None:
        """The process that forks the workers has ended."""

    def lost(self) -> None:
        """The supervisor has ended."""


class Link:
    """One supervisor process, and the thread that listens to it.

    Args:
        listener: Hears of workers.
        stdout: Where the workers' standard output goes: `"discard"` or `"stderr"`.

    Raises:
        UsageError: Called while a tool's module is imported for a worker, or without a Python to start.
    """

    def __init__(self, listener: Listener, stdout: str) -> None:
        if os.environ.get(LOADING):
            raise UsageError(
                "a tool was to run in a process while its own script was being imported for that\n\n"
                'hint: put the start of the script under `if __name__ == "__main__":`'
            )
        if not sys.executable:
            raise UsageError("isolation='process' needs sys.executable, the path of the running Python")
        self._listener = weakref.ref(listener)  # the thread below must not keep a forgotten runner alive
        self._lock = threading.Lock()
        self._control, control = socket.socketpair()
        self._forge, forge = socket.socketpair()
        settings = json.dumps({"argv": sys.argv, "stdout": stdout})
        zygote = [sys.executable, "-c", BOOT, json.dumps(sys.path), settings]
        own = [str(Path(supervisor.__file__)), str(control.fileno()), str(forge.fileno()), str(os.getpid())]
        with control, forge:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", *own, *zygote],
                pass_fds=[control.fileno(), forge.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._thread = threading.Thread(target=self._listen, name="failsoft-supervisor", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._process.pid

    def load(self, address: Address) -> None:
        """Have a tool's module imported, once for all workers to come."""
        self._write(self._forge, ["load", address.module, address.qualname, address.script])

    def fork(self, token: int, options: Mapping[str, Any], sock: socket.socket) -> None:
        """Ask for a worker that serves `sock`; `worker_up` answers."""
        data = json.dumps(["fork", token, options]).encode() + b"\n"
        with self._lock:
            try:
                socket.send_fds(self._forge, [data], [sock.fileno()])
            except OSError:
                log.debug("the supervisor is gone")

    def kill(self, pid: int, after_s: float) -> None:
        """Ask a worker and everything below it to end, and kill it after `after_s` seconds."""
        self._write(self._control, ["kill", pid, after_s])

    def renew(self) -> None:
        """Start a zygote in the place of one that ended."""
        self._write(self._control, ["zygote", "start"])

    def stop_zygote(self) -> None:
        """Kill a zygote that hangs in an import; `zygote_exit` answers."""
        self._write(self._control, ["zygote", "kill"])

    def _write(self, sock: socket.socket, message: list[Any]) -> None:
        with self._lock:
            try:
                sock.sendall(json.dumps(message).encode() + b"\n")
            except OSError:
                log.debug("the supervisor is gone")

    def _listen(self) -> None:
        rest = b""
        while True:
            try:
                data = self._control.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(json.loads(line))
        self._process.wait()
        with self._lock:
            self._control.close()
            self._forge.close()
        if (listener := self._listener()) is not None:
            listener.lost()

    def _hear(self, message: list[Any]) -> None:
        listener = self._listener()
        if listener is None:
            return
        match message:
            case ["up", token, pid]:
                listener.worker_up(token, pid)
            case ["exit", pid, status]:
                listener.worker_exit(pid, status)
            case ["zygote", status]:
                listener.zygote_exit(status)

    def close(self) -> None:
        """Have the supervisor kill everything and end; `lost` is called when it has."""
        try:
            self._control.shutdown(socket.SHUT_WR)
        except OSError:
            log.debug("the supervisor is gone")

    def join(self, timeout_s: float) -> bool:
        """Wait for the supervisor's end; kills it after `timeout_s` seconds. Whether nothing had to be killed."""
        self._thread.join(timeout_s)
        clean = not self._thread.is_alive()
        if not clean:
            self._process.kill()
            self._thread.join(1.0)
        return clean
