"""One body in a worker, seen from the parent."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
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

_QUICK_S, _QUICK_CALLS = 0.0001, 16
_QUEUED, _RUNNING, _DONE, _DROPPED, _STOPPED = range(5)
PARTIAL = "failsoft_partial"
"""Attribute of an exception that holds what a generator gave before it failed."""


class Body:
    """A body that workers can find.

    Raises:
        UsageError: They cannot, or a parameter cannot be handed to them.
    """

    __slots__ = ("address", "codec", "head", "quick")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.quick = 0  # how often in a row it may be waited for; see `ProcessJob.begin`
        self.address: Address = check_importable(fn)
        self.codec = Codec(fn)
        self.head = [self.address.module, self.address.qualname, self.address.script]


class ProcessJob:
    """One body in a worker of a `ProcessRunner`. Its state changes in the thread of its event loop only."""

    __slots__ = (
        "_bell",
        "_body",
        "_call",
        "_error",
        "_gone",
        "_on_end",
        "_orphan",
        "_partial",
        "_pool",
        "_retried",
        "_sent_at",
        "_state",
        "_text",
        "_value",
        "handle",
        "loop",
    )

    def __init__(self, pool: Pool, body: Body, text: bytes, call: CallContext) -> None:
        self.loop = asyncio.get_running_loop()
        self.handle: Handle | None = None
        self._pool, self._body, self._call = pool, body, call
        self._text = text
        self._sent_at = 0.0
        self._retried = False
        self._bell: asyncio.Future[None] = self.loop.create_future()
        self._gone: asyncio.Future[None] | None = None
        self._state = _QUEUED
        self._orphan = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._partial: Any = None
        self._on_end: Callable[[Any, BaseException | None], object] | None = None

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
        body = self._body
        if body.quick and self._pool.is_alone():
            # A body that answered in less than a turn of the event loop will do so again: asking here halves the
            # round trip. Now and then the loop has its turn all the same.
            body.quick -= 1
            handle.wait(_QUICK_S)
            if self._state == _RUNNING:
                body.quick = 0
        elif not body.quick:
            self._sent_at = time.monotonic()

    def _header(self) -> bytes:
        call = self._call
        fields: dict[str, Any] = {"attempt": call.attempt, "id": call.id}
        if call.deadline != float("inf"):
            fields["left_s"] = call.deadline - time.monotonic()
        if call.run_id is not None:
            fields["run"] = call.run_id
        if call.scope != "default":
            fields["scope"] = call.scope
        if call.idempotency_key is not None:
            fields["key"] = call.idempotency_key
        return to_json([*self._body.head, call.name, fields])

    def on_frame(self, tag: bytes, text: bytes) -> bool:
        """Take one frame; whether it was the last of the call."""
        match tag:
            case frames.PROGRESS | frames.LOG | frames.ACTED | frames.ITEM | frames.PARTIAL:
                try:
                    self._on_step(tag, text)
                except Exception:
                    log.exception("what a tool told from its process could not be passed on")
                return False
            case frames.ERROR | frames.NEVER_BEGAN:
                error = unpack(text)
                if self._partial is not None:
                    error.__dict__[PARTIAL] = self._partial
                self.settle(None, error, _DROPPED if tag == frames.NEVER_BEGAN else _DONE)
            case _:
                try:
                    self.settle(read_result(tag, text, self._body.codec.returns), None)
                except ValueError as exc:
                    self.settle(
                        None, InternalError(f"The tool's process wrote nonsense: {exc}", reason="worker_died")
                    )
        return True

    def _on_step(self, tag: bytes, text: bytes) -> None:
        match tag:
            case frames.ACTED:
                self._call.acted()
            case frames.ITEM:
                if hasattr(self._call, "items_sent"):
                    self._call.items_sent = True
            case frames.PARTIAL:
                self._partial = from_json(text)
            case frames.PROGRESS:
                self._call.report(Progress(*from_json(text)))
            case _:
                _log(*from_json(text))

    def settle(self, value: Any, error: BaseException | None, state: int = _DONE) -> None:
        """The end of the body."""
        self._value, self._error, self._state = value, error, state
        if self._sent_at and time.monotonic() - self._sent_at < _QUICK_S:
            self._body.quick = _QUICK_CALLS
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
