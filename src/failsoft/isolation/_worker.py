"""The inside of a worker: reads a call, runs its body, writes the answer."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
import resource
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from failsoft.core.calls import Progress
from failsoft.core.context import CallContext, current_call
from failsoft.core.errors import InternalError, InvalidOutput
from failsoft.core.kinds import Effect
from failsoft.isolation import _frames as frames
from failsoft.isolation._codec import Codec, write_result
from failsoft.isolation._failures import pack
from failsoft.isolation.importable import Address, find

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

__all__ = ["Ended", "FoundBody", "Worker"]

_CHECK_EVERY = 8  # calls; both checks take 2 µs
_PLAIN = (str, bytes, int, float, bool, type(None), dict, list, tuple)


class Ended(BaseException):
    """Raised in a body when the worker is asked to end."""


class WorkerCall(CallContext):
    """What a body may know of its call, in its worker: what it says is written to the parent."""

    __slots__ = ("_worker", "trace", "yielded")

    def __init__(self, worker: Worker, name: str, values: Any, fields: Mapping[str, Any]) -> None:
        left = fields.get("left_s")
        super().__init__(
            name,
            values,
            deadline=float("inf") if left is None else time.monotonic() + left,
            id=fields.get("id"),
            run_id=fields.get("run"),
            scope=fields.get("scope", "default"),
        )
        self._worker = worker
        self.yielded = False
        self.started = True
        self.attempt = fields.get("attempt", 1)
        self.idempotency_key = fields.get("key")
        self.trace: Mapping[str, str] | None = fields.get("trace")

    def acted(self) -> None:
        super().acted()
        self._worker.tell(frames.ACTED)

    def report(self, step: Progress) -> None:
        self._worker.tell(frames.PROGRESS, to_json([step.done, step.total, step.message]))


class FoundBody:
    """One body, found once."""

    __slots__ = ("codec", "fn")

    def __init__(self, address: Address) -> None:
        self.fn = find(address)
        self.codec = Codec(self.fn)


class _LogToParent(logging.Handler):
    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        self._worker.tell(frames.LOG, to_json([record.name, record.levelno, text, record.created]))


class Worker:
    """Serves calls from one socket, one at a time.

    Args:
        sock: The worker's end.
        options: `memory_mb`, `cpu_s`, `max_growth_mb`, `max_result_bytes`, `log_level`.
        bodies: Those that the zygote found, by module and name.
    """

    def __init__(
        self, sock: socket.socket, options: Mapping[str, Any], bodies: dict[tuple[str, str], FoundBody]
    ) -> None:
        self.sock = sock
        self.buffer = bytearray()
        self.max_result_bytes: int = options["max_result_bytes"]
        self.cpu_s: float | None = options["cpu_s"]
        self.max_growth: int = options["max_growth_mb"] << 10
        self.base_kib = _peak_kib()
        self.bodies = bodies
        self.runner: asyncio.Runner | None = None
        self.task: asyncio.Task[Any] | None = None
        self.lock = threading.Lock()
        self.calls = 0
        self.busy = self.sending = self.ending = False
        if options["memory_mb"] is not None:
            limit_memory(options["memory_mb"])
        logging.root.handlers[:] = [_LogToParent(self)]
        logging.root.setLevel(options["log_level"])
        signal.signal(signal.SIGTERM, self.on_term)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(self) -> None:
        """Serve until the socket ends or the worker is used up; never returns."""
        while (frame := self.read()) is not None:
            self.busy = True
            try:
                tag, body = self.answer(frame)
            except Ended:
                os._exit(128 + signal.SIGTERM)
            finally:
                self.busy = False
            self.tell(tag, body, last=self.ending)
            if self.ending:
                break
            self.calls += 1
            if self.calls % _CHECK_EVERY == 0:
                self.ending = _peak_kib() - self.base_kib > self.max_growth  # told with the next answer
                _reap()
        os._exit(0)

    def read(self) -> bytes | None:
        """The next request; None when the parent is gone."""
        try:
            data = self.sock.recv(8192)
            size = frames.HEAD + int.from_bytes(data[: frames.HEAD], "big")
            if len(data) == size:  # nearly always
                return data[frames.HEAD :]
            self.buffer += data
            while data:
                for frame in frames.split(self.buffer):
                    return frame
                data = self.sock.recv(1 << 20)
                self.buffer += data
        except OSError:
            pass
        return None

    def tell(self, tag: bytes, body: bytes = b"", *, last: bool = False) -> None:
        """Write one frame; from any thread of the body."""
        with self.lock:
            self.sending = True  # a frame must not be cut in two by `on_term`
            try:
                self.sock.sendall(frames.answer(tag, body, last=last))
            except OSError:
                os._exit(0)
            finally:
                self.sending = False

    def on_term(self, *_: object) -> None:
        """Asked to end: raise in the body, once."""
        if not self.busy:
            os._exit(0)
        if self.ending:
            return
        self.ending = True
        if self.task is not None:
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)
        elif not self.sending:
            raise Ended

    def answer(self, frame: bytes) -> tuple[bytes, bytes]:
        """Run one call; its last frame."""
        end = 4 + int.from_bytes(frame[:4], "big")
        (module, qualname, script), name, fields = from_json(frame[4:end])
        try:
            body = self.body(module, qualname, script)
        except (Exception, SystemExit) as exc:
            return _never_began("The tool could not be imported in its process.", "import_failed", exc)
        try:
            values = body.codec.read(frame[end:])
        except Exception as exc:
            return _never_began("The arguments did not arrive whole.", "arguments_changed", exc)
        call = WorkerCall(self, name, values, fields)
        for each in body.codec.context_names:
            values[each] = call
        try:
            if self.cpu_s is not None:
                limit_cpu(self.cpu_s)
            value = contextvars.copy_context().run(self.invoke, body.fn, values, call)
            tag, text = write_result(value, body.codec.returns)
            if len(text) > self.max_result_bytes:
                raise _too_large(len(text), self.max_result_bytes)
        except BaseException as exc:
            return frames.ERROR, pack(self.judge(exc))
        else:
            return tag, text

    def body(self, module: str, qualname: str, script: str | None) -> FoundBody:
        """The body of an address."""
        found = self.bodies.get((module, qualname))
        if found is None:
            address = Address(module=module, qualname=qualname, script=script)
            found = self.bodies[module, qualname] = FoundBody(address)
        return found

    def judge(self, exc: BaseException) -> BaseException:
        """What the end of a body means here."""
        if isinstance(exc, Ended):
            raise exc
        if isinstance(exc, MemoryError):
            self.ending = True  # what is left of the heap is in pieces
            limit = InternalError("The tool needs more memory than it may have.", reason="memory_limit")
            limit.__cause__ = exc
            return limit
        if isinstance(exc, SystemExit):
            return InternalError(
                f"The tool ended its process with exit code {exc.code!r}.", reason="worker_died"
            )
        if isinstance(exc, KeyboardInterrupt):
            return InternalError("The tool's process was interrupted.", reason="worker_died")
        return exc

    def invoke(self, fn: Callable[..., Any], values: dict[str, Any], call: WorkerCall) -> Any:
        """The body's value; what it yields becomes a list."""
        current_call.set(call)
        if call.trace:
            _follow(call.trace)
        value = fn(**values)
        if isinstance(value, _PLAIN):
            return value
        if inspect.isgenerator(value):
            return self.drain(value, call)
        if inspect.isasyncgen(value):
            return self.run_async(self.drain_async(value, call))
        return self.run_async(value) if inspect.isawaitable(value) else value

    def run_async(self, awaitable: Awaitable[Any]) -> Any:
        """Await in the worker's own event loop, which lives as long as the worker."""
        if self.runner is None:
            self.runner = asyncio.Runner()

        async def main() -> Any:
            self.task = asyncio.current_task()
            try:
                return await awaitable
            except asyncio.CancelledError as exc:
                if self.ending:
                    raise Ended from exc
                raise
            finally:
                self.task = None
                await _end_tasks()

        return self.runner.run(main(), context=contextvars.copy_context())

    def drain(self, stream: Iterator[Any], call: WorkerCall) -> list[Any]:
        """The items of a generator; `Progress` goes to the parent."""
        items: list[Any] = []
        try:
            for item in stream:
                self.take(item, items, call)
        except Exception:
            self.tell_partial(items)
            raise
        return items

    async def drain_async(self, stream: AsyncIterator[Any], call: WorkerCall) -> list[Any]:
        """The items of an async generator."""
        items: list[Any] = []
        try:
            async for item in stream:
                self.take(item, items, call)
        except Exception:
            self.tell_partial(items)
            raise
        finally:
            await stream.aclose()  # type: ignore[attr-defined]
        return items

    def take(self, item: Any, items: list[Any], call: WorkerCall) -> None:
        """Sort one item of a generator."""
        if isinstance(item, Progress):
            call.report(item)
            return
        if not items:
            call.yielded = True
            self.tell(frames.ITEM)
        items.append(item)

    def tell_partial(self, items: list[Any]) -> None:
        """What came before a failure."""
        if items:
            text = to_json(items, fallback=repr, inf_nan_mode="constants")
            if len(text) <= self.max_result_bytes:
                self.tell(frames.PARTIAL, text)


async def _end_tasks() -> None:
    """End what a body left behind in the loop."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=1.0)


def _never_began(message: str, reason: str, exc: BaseException) -> tuple[bytes, bytes]:
    error = InternalError(message, reason=reason, effect=Effect.NONE)
    error.__cause__ = exc
    return frames.NEVER_BEGAN, pack(error)


def _too_large(size: int, limit: int) -> InvalidOutput:
    return InvalidOutput(
        f"The tool ran, but its result of {size} bytes is larger than the limit of {limit}.",
        reason="result_too_large",
        suggestion="Ask for less at once.",
    )


def _peak_kib() -> int:
    """Most memory that this process ever had, in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 10 if sys.platform == "darwin" else peak


def limit_memory(memory_mb: int) -> None:
    """Let this process have `memory_mb` MiB more than now.

    RLIMIT_DATA and not RLIMIT_AS: it counts what is private and writable, not libraries and reserved addresses.
    """
    if sys.platform != "linux":
        return
    with open("/proc/self/status") as file:
        used_kib = next(int(line.split()[1]) for line in file if line.startswith("VmData"))
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, ((used_kib << 10) + (memory_mb << 20), hard))


def limit_cpu(cpu_s: float) -> None:
    """Let this process use `cpu_s` seconds more, rounded up; SIGXCPU ends it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime + cpu_s) + 1, hard))


def _reap() -> None:
    """Collect the ended processes that a body left behind."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        pass


def _follow(trace: Mapping[str, str]) -> None:
    """Go on with the parent's trace; a worker without OpenTelemetry has nothing that could."""
    try:
        from failsoft.isolation import otel
    except ImportError:
        return
    otel.follow(trace)
