"""One body in a worker, seen from the parent."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from failsoft.core.calls import Progress
from failsoft.core.errors import InternalError
from failsoft.isolation import _frames as frames
from failsoft.isolation._codec import Codec, read_result
from failsoft.isolation._failures import unpack
from failsoft.isolation.importable import Address, check_importable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from failsoft.core.context import CallContext
    from failsoft.isolation._handle import Handle
    from failsoft.isolation._pool import Pool

__all__ = ["Body", "ProcessJob", "death"]

log = logging.getLogger("failsoft.isolation")

_QUEUED, _RUNNING, _DONE, _DROPPED, _STOPPED = range(5)
PARTIAL = "failsoft_partial"
"""Attribute of an exception that holds what a generator gave before it failed."""


class Body:
    """A body that workers can find.

    Raises:
        UsageError: They cannot, or a parameter cannot be handed to them.
    """

    __slots__ = ("address", "codec", "head")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.address: Address = check_importable(fn)
        self.codec = Codec(fn)
        self.head = to_json([self.address.module, self.address.qualname, self.address.script])


class ProcessJob:
    """One body in a worker of a `ProcessRunner`. Its state changes in the thread of its event loop only."""

    # Defaults on the class, and no slots: what a plain call never sets costs it nothing (1.3 to 0.8 µs).
    handle: Handle | None = None
    _gone: asyncio.Future[None] | None = None
    _state: int = _QUEUED
    _orphan = _retried = False
    _value: Any = None
    _error: BaseException | None = None
    _partial: Any = None
    _trace: dict[str, str] | None = None
    _on_end: Callable[[Any, BaseException | None], object] | None = None

    def __init__(
        self, pool: Pool, body: Body, text: bytes, call: CallContext, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.loop = loop
        self._pool, self._body, self._text, self._call = pool, body, text, call
        self._bell: asyncio.Future[None] = loop.create_future()
        if "opentelemetry.trace" in sys.modules:
            from failsoft.isolation import otel

            self._trace = otel.carried()  # now: the worker may be found in another context

    @property
    def started(self) -> bool:
        """Whether the body may have begun; a job that never began has had no effect."""
        return self._state not in (_QUEUED, _DROPPED)

    @property
    def outcome(self) -> tuple[Any, BaseException | None] | None:
        """Value and error of a body that ended by itself; None while it has not, or was stopped."""
        return (self._value, self._error) if self._state == _DONE else None

    def __await__(self) -> Generator[Any, None, Any]:
        yield from self._bell
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # a traceback refers to this frame, the frame to the job
        return self._value

    def begin(self, handle: Handle) -> None:
        """Hand the call to a worker."""
        if self._state != _QUEUED:
            self._pool.give_back(handle)
            return
        try:
            handle.attach(self.loop)
            handle.send(frames.request(self._header(), self._text))
        except OSError:
            self._pool.again(self, handle)
            return
        self.handle = handle
        self._state = _RUNNING

    def _header(self) -> bytes:
        call = self._call
        fields: dict[str, Any] = {"attempt": call.attempt, "id": call.id}
        if call.deadline != float("inf"):
            fields["left_s"] = call.remaining_s
        if call.run_id is not None:
            fields["run"] = call.run_id
        if call.scope != "default":
            fields["scope"] = call.scope
        if call.idempotency_key is not None:
            fields["key"] = call.idempotency_key
        if self._trace:
            fields["trace"] = self._trace
        return b"[%b,%b,%b]" % (self._body.head, to_json(call.name), to_json(fields))

    def on_frame(self, tag: bytes, text: bytes) -> bool:
        """Take one frame; whether it was the last of the call."""
        if tag in frames.RESULTS:
            try:
                self.settle(read_result(tag, text, self._body.codec.returns), None)
            except ValueError as exc:
                self.settle(
                    None, InternalError(f"The tool's process wrote nonsense: {exc}", reason="worker_died")
                )
            return True
        if tag in (frames.ERROR, frames.NEVER_BEGAN):
            error = unpack(text)
            if self._partial is not None:
                error.__dict__[PARTIAL] = self._partial
            self.settle(None, error, _DROPPED if tag == frames.NEVER_BEGAN else _DONE)
            return True
        try:
            self._on_step(tag, text)
        except Exception:
            log.exception("what a tool told from its process could not be passed on")
        return False

    def _on_step(self, tag: bytes, text: bytes) -> None:
        match tag:
            case frames.ACTED:
                self._call.acted()
            case frames.ITEM:
                if hasattr(self._call, "yielded"):
                    self._call.yielded = True
            case frames.PARTIAL:
                self._partial = from_json(text)
            case frames.PROGRESS:
                self._call.report(Progress(*from_json(text)))
            case _:
                _log(*from_json(text))

    def settle(self, value: Any, error: BaseException | None, state: int = _DONE) -> None:
        """The end of the body."""
        self._value, self._error, self._state = value, error, state
        if not self._bell.done() and not self.loop.is_closed():
            self._bell.set_result(None)

    def on_exit(self, handle: Handle, status: int) -> None:
        """The worker has ended, and everything below it."""
        if self._state == _RUNNING and handle.unread and not handle.condemned and not self._retried:
            self._state, self._retried = _QUEUED, True
            self._pool.queue_again(self)
            return
        if self._state == _RUNNING:
            state = _DROPPED if handle.unread else _STOPPED if handle.condemned else _DONE
            self.settle(None, death(status), state)
        if self._gone is not None and not self._gone.done() and not self.loop.is_closed():
            self._gone.set_result(None)
        if self._orphan:
            self._tell()

    def refuse(self, error: BaseException) -> None:
        """The body will never begin."""
        if self._state == _QUEUED:
            self.settle(None, error, _DROPPED)

    async def abandon(
        self, on_end: Callable[[Any, BaseException | None], object], *, grace_s: float | None = None
    ) -> bool:
        """Kill the worker with everything below it: SIGTERM, then SIGKILL. False once all of it is gone.

        Returns in `kill_after_s` and some milliseconds, unless the kernel itself does not let go of a process;
        then True after `grace_s` seconds, and `on_end` is called when it has.
        """
        if self._state == _QUEUED:
            self._state = _DROPPED
            self._pool.drop(self)
        if self._state != _RUNNING or self.handle is None:
            return False
        self._on_end = on_end
        self._gone = self.loop.create_future()
        grace_s = self._pool.grace_s if grace_s is None else grace_s
        self._pool.condemn(self.handle, grace_s)
        try:
            async with asyncio.timeout(grace_s):
                await self._gone
        except TimeoutError:
            self._orphan = True
        except asyncio.CancelledError:
            self._orphan = True
            if self._gone.done() and not self._gone.cancelled():
                self._tell()
            raise
        return self._orphan

    def _tell(self) -> None:
        if self._on_end is not None:
            try:
                self._on_end(self._value, self._error)
            except Exception:
                log.exception("taking note of a late outcome failed")

    def __repr__(self) -> str:
        return f"ProcessJob({('queued', 'running', 'done', 'dropped', 'stopped')[self._state]})"


def death(status: int) -> InternalError:
    """The error of a call whose worker ended, by the status that it ended with."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        message = f"The tool's process ended with exit code {code} before it answered."
        return InternalError(message, reason="worker_died", context={"exit_code": code})
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if name == "SIGXCPU":
        return InternalError(
            "The tool used more processor time than it may.", reason="cpu_limit", context={"signal": name}
        )
    hint = " The system may have been out of memory." if name == "SIGKILL" else ""
    return InternalError(
        f"The tool's process was ended by {name} before it answered.{hint}",
        reason="worker_died",
        context={"signal": name},
    )


def _log(name: str, level: int, text: str, created: float) -> None:
    logger = logging.getLogger(name)
    if logger.isEnabledFor(level):
        record = logger.makeRecord(name, level, "(worker)", 0, text, (), None)
        record.created = created
        logger.handle(record)
