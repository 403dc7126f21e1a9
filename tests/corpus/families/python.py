"""Python's own exceptions, raised for real where that is possible."""

from __future__ import annotations

import asyncio
import concurrent.futures
import concurrent.futures.process
import errno
import http.client
import importlib
import io
import json
import os
import queue
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from tests.corpus.case import case, caught, table


def _os(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def _group(*inside: BaseException) -> BaseExceptionGroup:
    return BaseExceptionGroup("unhandled errors in a TaskGroup", list(inside))


def _caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _run(*args: str) -> BaseException:
    return caught(
        lambda: subprocess.run([sys.executable, "-c", *args], check=True, capture_output=True, timeout=10)
    )


def _http_error(code: int, headers: dict[str, str] | None = None, method: str = "GET") -> BaseException:
    message = http.client.HTTPMessage()
    for name, value in (headers or {}).items():
        message[name] = value
    del method
    return urllib.error.HTTPError("http://api.example.test/x", code, "reason", message, io.BytesIO(b""))


CASES = [
    *table("errno", [
        ("ECONNREFUSED", "network retry none", lambda: _os(errno.ECONNREFUSED)),
        ("ECONNRESET", "network retry maybe", lambda: _os(errno.ECONNRESET)),
        ("ECONNABORTED", "network retry maybe", lambda: _os(errno.ECONNABORTED)),
        ("EPIPE", "network retry maybe", lambda: _os(errno.EPIPE)),
        ("ESHUTDOWN", "network retry maybe", lambda: _os(errno.ESHUTDOWN)),
        ("ETIMEDOUT", "timeout retry maybe", lambda: _os(errno.ETIMEDOUT)),
        ("EHOSTUNREACH", "network retry none", lambda: _os(errno.EHOSTUNREACH)),
        ("ENETUNREACH", "network retry none", lambda: _os(errno.ENETUNREACH)),
        ("ENETDOWN", "network retry none", lambda: _os(errno.ENETDOWN)),
        ("EADDRNOTAVAIL", "network retry none", lambda: _os(errno.EADDRNOTAVAIL)),
        ("ENOENT", "not_found no none", lambda: _os(errno.ENOENT)),
        ("EEXIST", "conflict no none", lambda: _os(errno.EEXIST)),
        ("EACCES", "permission_denied no none", lambda: _os(errno.EACCES)),
        ("EPERM", "permission_denied no none", lambda: _os(errno.EPERM)),
        ("EROFS", "permission_denied no none", lambda: _os(errno.EROFS)),
        ("EISDIR", "invalid_argument no none", lambda: _os(errno.EISDIR)),
        ("ENOTDIR", "invalid_argument no none", lambda: _os(errno.ENOTDIR)),
        ("ENAMETOOLONG", "invalid_argument no none", lambda: _os(errno.ENAMETOOLONG)),
        ("ENOTEMPTY", "conflict no none", lambda: _os(errno.ENOTEMPTY)),
        ("ENOSPC", "quota_exhausted no maybe", lambda: _os(errno.ENOSPC)),
        ("EDQUOT", "quota_exhausted no maybe", lambda: _os(errno.EDQUOT)),
        ("EMFILE", "overloaded retry none", lambda: _os(errno.EMFILE)),
        ("EBUSY", "conflict retry none", lambda: _os(errno.EBUSY)),
        ("EAGAIN", "conflict retry none", lambda: _os(errno.EAGAIN)),
        ("ENOMEM", "internal no maybe", lambda: _os(errno.ENOMEM)),
        ("EIO", "unknown no maybe", lambda: _os(errno.EIO)),
    ]),
    *table("raised", [
        ("connect to a closed port", "network retry none", lambda: caught(lambda: socket.create_connection(("127.0.0.1", _closed_port()), 2))),
        ("open a missing file", "not_found no none", lambda: caught(lambda: os.open("/nonexistent-dir/x.txt", os.O_RDONLY))),
        ("open a directory", "invalid_argument no none", lambda: caught(lambda: os.open(tempfile.gettempdir(), os.O_WRONLY))),
        ("create an existing folder", "conflict no none", lambda: caught(lambda: os.mkdir(tempfile.gettempdir()))),
        ("resolve a name that cannot be", "network retry none", lambda: caught(lambda: socket.getaddrinfo("no-such-host.invalid", 80))),
        ("command fails", "internal no maybe", lambda: _run("import sys; sys.stderr.write('boom'); sys.exit(3)")),
        ("command is killed", "internal no maybe", lambda: _run("import os; os.kill(os.getpid(), 9)")),
        ("command does not exist", "not_found no none", lambda: caught(lambda: subprocess.run(["no-such-command-here"]))),
        ("command takes too long", "timeout retry maybe", lambda: subprocess.TimeoutExpired(["sleep"], 3)),
        ("wait_for", "timeout retry maybe", lambda: caught(lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(5), 0.001)))),
        ("asyncio.timeout", "timeout retry maybe", lambda: caught(lambda: asyncio.run(_times_out()))),
        ("task group around a refusal", "network retry none", lambda: caught(lambda: asyncio.run(_task_group()))),
        ("future times out", "timeout retry maybe", lambda: caught(lambda: concurrent.futures.Future().result(0))),
        ("pool is broken", "internal no maybe", lambda: concurrent.futures.process.BrokenProcessPool("a child died")),
        ("queue full", "overloaded retry none", lambda: caught(lambda: _full_queue())),
        ("JSON cannot be read", "internal no maybe", lambda: caught(lambda: json.loads("{"))),
        ("bytes cannot be decoded", "internal no maybe", lambda: caught(lambda: b"\xff".decode())),
        ("key is missing", "not_found no maybe", lambda: caught(lambda: {}["a"])),
        ("index is out of range", "internal no maybe", lambda: caught(lambda: [][0])),
        ("attribute is missing", "internal no maybe", lambda: caught(lambda: None.x)),
        ("division by zero", "internal no maybe", lambda: caught(lambda: 1 / 0)),
        ("wrong type", "internal no maybe", lambda: caught(lambda: 1 + "")),
        ("wrong value", "internal no maybe", lambda: caught(lambda: int("x"))),
        ("module is missing", "internal no maybe", lambda: caught(lambda: importlib.import_module("no_such_module_here"))),
        ("recursion", "internal no maybe", lambda: RecursionError("maximum recursion depth exceeded")),
        ("memory", "internal no maybe", lambda: MemoryError()),
        ("not implemented", "internal no maybe", lambda: NotImplementedError()),
        ("assertion", "internal no maybe", lambda: AssertionError("x")),
        ("cancelled", "cancelled no maybe", lambda: asyncio.CancelledError()),
        ("Ctrl-C", "cancelled no maybe", lambda: KeyboardInterrupt()),
        ("exit", "internal no maybe", lambda: caught(lambda: sys.exit(2))),
        ("incomplete stream", "network retry maybe", lambda: asyncio.IncompleteReadError(b"", 4)),
    ]),
    *table("ssl", [
        ("bad certificate", "unavailable no none", lambda: ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)")),
        ("unknown CA alert", "unavailable no none", lambda: ssl.SSLError(1, "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:2580)")),
        ("end of file", "network retry maybe", lambda: ssl.SSLEOFError(8, "EOF occurred in violation of protocol (_ssl.c:1006)")),
        ("read timed out", "timeout retry maybe", lambda: ssl.SSLError("The read operation timed out")),
        ("closed", "network retry maybe", lambda: ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed (EOF)")),
        ("record layer", "network retry maybe", lambda: ssl.SSLError(1, "[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] decryption failed or bad record mac")),
    ]),
    *table("http.client and urllib", [
        ("remote disconnected", "network retry maybe", lambda: http.client.RemoteDisconnected("Remote end closed connection without response")),
        ("incomplete read", "network retry maybe", lambda: http.client.IncompleteRead(b"ab", 5)),
        ("bad status line", "network retry maybe", lambda: http.client.BadStatusLine("x")),
        ("bad URL", "invalid_argument no none", lambda: caught(lambda: http.client.HTTPConnection("a:b"))),
        ("refused", "network retry none", lambda: caught(lambda: urllib.request.urlopen(f"http://127.0.0.1:{_closed_port()}/", timeout=2))),
        ("name", "network retry none", lambda: urllib.error.URLError(socket.gaierror(-2, "Name or service not known"))),
        ("certificate", "unavailable no none", lambda: urllib.error.URLError(ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1)"))),
        ("time", "timeout retry maybe", lambda: urllib.error.URLError(TimeoutError("timed out"))),
        ("404", "not_found no none", lambda: _http_error(404)),
        ("401", "permission_denied no none", lambda: _http_error(401)),
        ("429", "rate_limited retry none", lambda: _http_error(429, {"Retry-After": "3"})),
        ("503", "unavailable retry maybe", lambda: _http_error(503)),
    ]),
    *table("wrapped", [
        ("custom error from a refusal", "network retry none", lambda: _caused(RuntimeError("no luck"), ConnectionRefusedError(111, "Connection refused"))),
        ("custom error from a time-out", "timeout retry maybe", lambda: _caused(ValueError("no answer"), TimeoutError())),
        ("group of one", "timeout retry maybe", lambda: _group(TimeoutError())),
        ("group in a group", "network retry none", lambda: _group(_group(ConnectionRefusedError(111, "refused")))),
        ("cancellation beside a real error", "network retry maybe", lambda: _group(asyncio.CancelledError(), ConnectionResetError())),
        ("only cancellations", "cancelled no maybe", lambda: _group(asyncio.CancelledError(), asyncio.CancelledError())),
        ("two errors, one permanent", "permission_denied no maybe", lambda: _group(TimeoutError(), PermissionError(13, "Permission denied"))),
        ("two errors, both transient", "network retry maybe", lambda: _group(ConnectionRefusedError(111, "refused"), TimeoutError())),
        ("handled before a bug", "internal no maybe", lambda: caught(_bug_while_handling)),
    ]),
    case("words: 401", "permission_denied no maybe", lambda: RuntimeError("401 from provider: invalid key")),
    case("words: connection refused", "network retry maybe", lambda: RuntimeError("could not connect: Connection refused")),
    case("words: rate limit", "rate_limited retry none", lambda: RuntimeError("Rate limit exceeded, slow down")),
    case("words: timed out", "timeout retry maybe", lambda: RuntimeError("operation timed out after 30s")),
    case("words: HTTP 503", "unavailable retry maybe", lambda: RuntimeError("HTTP 503 from upstream")),
    case("words: nothing", "unknown no maybe", lambda: RuntimeError("bad state")),
    case("words: a number that is no status", "unknown no maybe", lambda: RuntimeError("wrote 503 rows, expected 504 rows")),
]  # fmt: skip


async def _times_out() -> None:
    async with asyncio.timeout(0.001):
        await asyncio.sleep(5)


async def _task_group() -> None:
    async def refused() -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(1))
        group.create_task(refused())


def _full_queue() -> None:
    full: queue.Queue[int] = queue.Queue(1)
    full.put_nowait(1)
    full.put_nowait(2)


def _bug_while_handling() -> None:
    try:
        raise ConnectionRefusedError(111, "Connection refused")
    except ConnectionRefusedError:
        [][1]
