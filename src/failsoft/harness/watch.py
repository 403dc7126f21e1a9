"""Which tool blocks the event loop: one watchdog for all harnesses of the process, told apart by the call it finds.

A loop is watched from its first inline body on, until the last harness that used it is closed. No call does anything for
it: the tool is found in the stack of the blocked thread.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import weakref
from typing import TYPE_CHECKING

from failsoft.core.clock import SystemClock
from failsoft.core.events import EventName
from failsoft.harness.live import LiveCall
from failsoft.isolation.watchdog import Watchdog

if TYPE_CHECKING:
    from failsoft.harness.shared import Shared
    from failsoft.isolation.watchdog import Blocked

__all__ = ["prepare", "unwatch"]


def _tell(blocked: Blocked) -> None:
    """From the watching thread."""
    call = blocked.call
    if not isinstance(call, LiveCall):
        return
    shared, name = call.shared, call.name
    shared.blocked[name] = shared.blocked.get(name, 0) + 1
    shared.tell(
        call, EventName.LOOP_BLOCKED, blocked_s=blocked.blocked_s, where=blocked.where, advice=blocked.advice
    )


_watchdog = Watchdog(_tell)
_lock = threading.Lock()
_users: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakSet[Shared]] = (
    weakref.WeakKeyDictionary()
)


def prepare(shared: Shared) -> None:
    """Have every loop watched that runs an inline body of this harness. Not under a clock that may jump."""
    if isinstance(shared.clock, SystemClock):
        for plan in shared.plans.values():
            if plan.runner is None:
                plan.alarms.on_loop = functools.partial(_watch, weakref.ref(shared))


def _watch(ref: weakref.ref[Shared]) -> None:
    shared = ref()
    if shared is not None:
        with _lock:
            _users.setdefault(asyncio.get_running_loop(), weakref.WeakSet()).add(shared)
        _watchdog.watch()


def unwatch(shared: Shared) -> None:
    """The harness needs the running loop no more."""
    with _lock:
        users = _users.get(asyncio.get_running_loop())
        if users is None:
            return
        users.discard(shared)
        last = not users
        if last:
            del _users[asyncio.get_running_loop()]
    if last:
        _watchdog.unwatch()
