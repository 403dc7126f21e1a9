"""Python's own exceptions: builtins, socket, ssl, asyncio, subprocess, concurrent.futures, urllib, http.client, json."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from failsoft.classify.rules.phrases import certificate
from failsoft.classify.rules.row import Context, row
from failsoft.classify.text import MAX_CHARS, one_line, text_of
from failsoft.classify.verdict import Verdict, verdict
from failsoft.core.kinds import Effect, ErrorKind

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

__all__ = ["ROWS"]

K, NONE, POSSIBLE = ErrorKind, Effect.NONE, Effect.POSSIBLE

# These can only be said before the secure connection stands, so nothing was sent through it.
_HANDSHAKE: Final = r"wrong.version.number|handshake|(?:unsupported|unknown).protocol|record.layer.failure|http.request|protocol.version"

_ERRNO: Final[dict[int, Verdict]] = {
    errno.ENETUNREACH: verdict(K.NETWORK, "host_unreachable", NONE),
    errno.EHOSTUNREACH: verdict(K.NETWORK, "host_unreachable", NONE),
    errno.ENETDOWN: verdict(K.NETWORK, "host_unreachable", NONE),
    errno.EHOSTDOWN: verdict(K.NETWORK, "host_unreachable", NONE),
    errno.EADDRNOTAVAIL: verdict(K.NETWORK, "connect_failed", NONE),
    errno.ECONNREFUSED: verdict(K.NETWORK, "connect_refused", NONE),
    errno.ECONNRESET: verdict(K.NETWORK, "connection_reset"),
    errno.EPIPE: verdict(K.NETWORK, "connection_lost"),
    errno.ETIMEDOUT: verdict(K.TIMEOUT, "request_timeout"),
    errno.EMFILE: verdict(K.OVERLOADED, "too_many_open"),
    errno.ENFILE: verdict(K.OVERLOADED, "too_many_open"),
    errno.EADDRINUSE: verdict(K.CONFLICT, "address_in_use"),
    errno.ENOSPC: verdict(K.QUOTA_EXHAUSTED, "disk_full", POSSIBLE),
    errno.EDQUOT: verdict(K.QUOTA_EXHAUSTED, "disk_full", POSSIBLE),
    errno.EFBIG: verdict(K.INVALID_ARGUMENT, "too_large", POSSIBLE),
    errno.EROFS: verdict(K.PERMISSION_DENIED, "read_only"),
    errno.EBUSY: verdict(K.CONFLICT, "locked", NONE, True),
    errno.ETXTBSY: verdict(K.CONFLICT, "locked", NONE, True),
    errno.EDEADLK: verdict(K.CONFLICT, "deadlock", NONE, True),
    errno.ENAMETOOLONG: verdict(K.INVALID_ARGUMENT, "name_too_long"),
    errno.ELOOP: verdict(K.INVALID_ARGUMENT, "link_loop"),
    errno.ENOTEMPTY: verdict(K.CONFLICT, "not_empty"),
    errno.ENOMEM: verdict(K.INTERNAL, "memory_limit"),
}


def _os_words(exc: OSError) -> str:
    """`No such file or directory: 'a.txt'`, without the number."""
    if exc.strerror is None:
        return one_line(text_of(exc))
    named = "" if exc.filename is None else f": {exc.filename!r}"
    # No cleaning: the words are the system's, and `repr` keeps the name on one line.
    return f"{exc.strerror}{named}"[:MAX_CHARS]


def _file(judged: Verdict) -> Callable[[OSError, Context], Verdict]:
    def read(exc: OSError, context: Context) -> Verdict:
        del context
        return judged.but(message=_os_words(exc))

    return read


def _os_error(exc: OSError, context: Context) -> Verdict | None:
    del context
    found = _ERRNO.get(exc.errno) if exc.errno is not None else None
    if found is None or found.kind in (K.NETWORK, K.TIMEOUT):
        return found
    return found.but(message=_os_words(exc))


def _tls(exc: BaseException, context: Context) -> Verdict | None:
    del context
    return certificate(text_of(exc))


def _key_error(exc: KeyError, context: Context) -> Verdict:
    del context
    key = exc.args[0] if exc.args else ""
    shown = one_line(key if isinstance(key, str) and " " in key else f"There is no {key!r}.", 200)
    return verdict(K.NOT_FOUND, "key_error", POSSIBLE, message=shown, weak=True)


def _process(exc: subprocess.CalledProcessError, context: Context) -> Verdict:
    del context
    code = exc.returncode
    said = exc.stderr or exc.stdout or b""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    killed = code < 0
    message = (
        f"A command was killed by signal {-code}." if killed else f"A command ended with exit code {code}."
    )
    if shown := one_line(last, 180):
        message += f" It said: {shown}"
    reason = "process_killed" if killed else "process_failed"
    return verdict(K.INTERNAL, reason, message=message, context={"exit_code": code})


ROWS = (
    # network
    row("ConnectionRefusedError", K.NETWORK, "connect_refused", NONE),
    row("ConnectionResetError", K.NETWORK, "connection_reset"),
    row("BrokenPipeError ConnectionAbortedError", K.NETWORK, "connection_lost"),
    row("ConnectionError", read=_tls),
    row("ConnectionError", K.NETWORK, "connect_refused", POSSIBLE, text=r"\[Errno 111\]|connection refused", inner=True),
    row("ConnectionError", K.NETWORK, "connection_lost", inner=True),
    row("socket.gaierror socket.herror", K.NETWORK, "dns_failed", NONE),
    row("ssl.SSLCertVerificationError ssl.CertificateError", read=_tls),
    row("ssl.SSLCertVerificationError", K.UNAVAILABLE, "certificate_invalid", NONE, False, owner="human"),
    row("ssl.SSLZeroReturnError", K.NETWORK, "connection_closed"),
    row("ssl.SSLError", read=_tls),
    row("ssl.SSLError", K.TIMEOUT, "read_timeout", text=r"timed out"),
    row("ssl.SSLError", K.NETWORK, "tls_failed", NONE, text=_HANDSHAKE),
    row("ssl.SSLError", K.NETWORK, "tls_hiccup"),
    row("http.client.RemoteDisconnected", K.NETWORK, "connection_lost"),
    row("http.client.IncompleteRead http.client.BadStatusLine", K.NETWORK, "connection_lost"),
    row("http.client.InvalidURL", K.INVALID_ARGUMENT, "bad_url", NONE, say=True),
    row("http.client.HTTPException", K.NETWORK, "bad_protocol"),
    row("asyncio.IncompleteReadError", K.NETWORK, "connection_lost"),
    row("asyncio.LimitOverrunError", K.INVALID_OUTPUT, "too_large", POSSIBLE),
    # time
    row("TimeoutError multiprocessing.TimeoutError", K.TIMEOUT, "request_timeout"),
    row("subprocess.TimeoutExpired", K.TIMEOUT, "process_timeout"),
    # cancelled
    row("asyncio.CancelledError concurrent.futures.CancelledError", K.CANCELLED),
    row("KeyboardInterrupt GeneratorExit", K.CANCELLED, "interrupted"),
    row("SystemExit", K.INTERNAL, "tool_exited"),
    # files
    row("FileNotFoundError ProcessLookupError", read=_file(verdict(K.NOT_FOUND))),
    row("FileExistsError", read=_file(verdict(K.CONFLICT, "already_exists"))),
    row("PermissionError", read=_file(verdict(K.PERMISSION_DENIED, "forbidden"))),
    row("IsADirectoryError NotADirectoryError", read=_file(verdict(K.INVALID_ARGUMENT, "wrong_file_type"))),
    row("BlockingIOError", K.CONFLICT, "lock_not_available", NONE, True),
    row("ChildProcessError", K.INTERNAL, "process_failed", say=True),
    row("InterruptedError", K.UNAVAILABLE, "interrupted", POSSIBLE),
    row("OSError", read=_os_error),
    # processes and pools
    row("subprocess.CalledProcessError", read=_process),
    row("concurrent.futures.BrokenExecutor", K.INTERNAL, "worker_died"),
    row("concurrent.futures.InvalidStateError asyncio.InvalidStateError", K.INTERNAL, "invalid_state"),
    row("asyncio.QueueFull queue.Full", K.OVERLOADED, "queue_full"),
    row("asyncio.QueueEmpty queue.Empty", K.UNAVAILABLE, "queue_empty", POSSIBLE),
    row("asyncio.BrokenBarrierError threading.BrokenBarrierError", K.INTERNAL, "broken_barrier"),
    # data
    row("json.JSONDecodeError json.decoder.JSONDecodeError", K.INTERNAL, "unreadable_data", say=True),
    row("UnicodeDecodeError UnicodeEncodeError", K.INTERNAL, "unreadable_data"),
    row("KeyError", read=_key_error),
    # a bug in the body
    row("MemoryError", K.INTERNAL, "memory_limit"),
    row("RecursionError", K.INTERNAL, "recursion"),
    row("ImportError", K.INTERNAL, "missing_module", say=True),
    row("NotImplementedError", K.INTERNAL, "not_implemented", say=True, weak=True),
    row("ArithmeticError AssertionError AttributeError BufferError EOFError IndexError NameError", K.INTERNAL, "bug", say=True, weak=True),
    row("StopIteration StopAsyncIteration SyntaxError TypeError", K.INTERNAL, "bug", say=True, weak=True),
    row("ValueError", K.INTERNAL, "value_error", say=True, weak=True),
)  # fmt: skip
