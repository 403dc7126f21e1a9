"""The independent record: a bank on a loopback port that books each payment as a line in a file, and knows when to kill.

The bank lives in the driver, which is never killed; `pay` and `was_paid` are what the killed processes use.
A payment with an idempotency key is booked once, as a bank that takes keys does it.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import os
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Bank", "Kill", "pay", "was_paid"]

# A bank that answers at once would leave no time in which a payment is under way.
WORK_S = 0.004


@dataclass(frozen=True, kw_only=True)
class Kill:
    """When the paying process is to die: at its request for one step of a run.

    Args:
        moment: `before` the payment is booked, `during`: booked and not answered, `after` the answer was sent.
        delay_s: With `after`: seconds from the answer to the kill.
    """

    moment: str
    delay_s: float = 0.0


@dataclass
class Bank:
    """Books payments, and kills where the plan says so.

    Args:
        record: The file; one line a payment, appended and synced to the disk.
        kill: Ends the process that pays, and returns when it is gone.
    """

    record: Path
    kill: Callable[[], object]
    plan: dict[tuple[str, int], Kill] = field(default_factory=dict)
    booked: collections.Counter[tuple[str, int]] = field(default_factory=collections.Counter)
    news: list[float] = field(default_factory=list)
    """When a step was paid that had not been paid before; monotonic."""
    asked: int = 0
    _keys: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"bank": self})
        self._file = os.open(self.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        os.close(self._file)

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def pay(self, run: str, step: int, key: str | None, answer: Callable[[], object]) -> None:
        """One request: booked or not, answered or not, and the sender killed where that is planned."""
        with self._lock:
            self.asked += 1
            kill = self.plan.pop((run, step), Kill(moment="never"))
            if kill.moment == "before":
                self.kill()
                return
            if key is None or key not in self._keys:
                self._book(run, step, key)
        if kill.moment == "during":
            self.kill()
            return
        answer()
        if kill.moment == "after":
            time.sleep(kill.delay_s)
            self.kill()

    def _book(self, run: str, step: int, key: str | None) -> None:
        time.sleep(WORK_S)
        os.write(self._file, f"{run} {step} {key or '-'}\n".encode())
        os.fsync(self._file)
        if key is not None:
            self._keys.add(key)
        self.booked[(run, step)] += 1
        if self.booked[(run, step)] == 1:
            self.news.append(time.monotonic())


class _Handler(BaseHTTPRequestHandler):
    bank: ClassVar[Bank]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        run, step = asked["run"], asked["step"]
        if self.path == "/paid":
            self._answer({"paid": self.bank.booked[(run, step)] > 0})
        else:
            self.bank.pay(run, step, asked.get("key"), lambda: self._answer({"receipt": f"{run}/{step}"}))

    def _answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # whoever asked may have been killed meanwhile
            self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line for each request would drown what the driver says."""


def pay(bank: str, run: str, step: int, key: str | None = None) -> str:
    """Pay one step; the bank's receipt. Raises `OSError` or `http.client.HTTPException` where no answer came."""
    return str(_post(bank, "/pay", {"run": run, "step": step, "key": key})["receipt"])


def was_paid(bank: str, run: str, step: int) -> bool:
    """Whether the bank has booked it."""
    return bool(_post(bank, "/paid", {"run": run, "step": step})["paid"])


def _post(bank: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection(bank, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return dict(json.loads(connection.getresponse().read()))
    finally:
        connection.close()
