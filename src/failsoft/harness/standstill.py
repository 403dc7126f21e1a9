"""A running attempt's time stands still while a person is asked something: that is not the tool's time.

    stop ── the alarm is taken down, the claim's lease is renewed ── go ── due and deadline are as much later

The caller's own deadline holds throughout, as it does for approvals.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from failsoft.harness.alarms import LoneAlarm

if TYPE_CHECKING:
    from failsoft.harness.live import LiveCall

__all__ = ["Standstill"]

log = logging.getLogger("failsoft")

_RENEWALS_PER_LEASE = 3
_NEVER = float("inf")


class Standstill:
    """The clock of one attempt; made by its body, used on its loop, and ended by the body before it returns.

    Args:
        call: The live call, whose attempt runs.
    """

    __slots__ = ("_alarm", "_call", "_due", "_renewing", "_since")

    def __init__(self, call: LiveCall) -> None:
        self._call = call
        self._since: float | None = None
        self._due = _NEVER
        self._alarm: LoneAlarm | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether it stands still now."""
        return self._since is not None

    def stop(self) -> None:
        """Let no time pass for the attempt from now on; nothing where its time is over already."""
        call = self._call
        if self.is_stopped or call.fired or call.task is None:
            return
        self._since, self._due = call.shared.monotonic(), call.due
        self._take_down()
        call.due = call.hard_deadline
        call.shared.held[call] = True
        if call.due < _NEVER:
            self._watch(idle=False)
        if call.claim is not None and call.claim.begun:
            self._renewing = asyncio.get_running_loop().create_task(_renew(call))

    def go(self) -> None:
        """Let time pass again."""
        call = self._call
        if self._since is None:
            return
        self._settle()
        if not call.fired:
            self._take_down()
            self._watch(idle=True)

    def end(self) -> None:
        """The attempt is over; whoever armed it does the rest."""
        call, stood = self._call, self.is_stopped or self._alarm is not None
        self._settle()
        if stood:
            if self._alarm is not None:
                self._alarm.stop()
            call.alone = None
            call.shared.held.pop(call, None)

    def _settle(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            self._renewing = None
        if self._since is None:
            return
        call = self._call
        stood_s, self._since = call.shared.monotonic() - self._since, None
        call.deadline = min(call.hard_deadline, call.deadline + stood_s)
        call.due = min(call.hard_deadline, self._due + stood_s)

    def _take_down(self) -> None:
        call, loop = self._call, asyncio.get_running_loop()
        if call.alone is not None:
            call.alone.stop()
        call.plan.alarms.of(loop).drop(call)

    def _watch(self, *, idle: bool) -> None:
        call = self._call
        idle_s = call.plan.idle_s if idle else None
        self._alarm = LoneAlarm(
            call, idle_s, call.shared.monotonic, asyncio.get_running_loop(), call.shared.held
        )
        if idle_s is not None:
            call._progressed = self._alarm.touch


async def _renew(call: LiveCall) -> None:
    """Keep the claim running: its lease was made for the attempt's own time."""
    assert call.claim is not None
    intent = call.claim.intent
    while True:
        try:
            await call.shared.store.renew(intent.key, intent.owner_token, intent.lease_s)
        except Exception:
            log.warning(
                "the claim of a waiting call of %s could not be renewed", call.plan.name, exc_info=True
            )
        await asyncio.sleep(intent.lease_s / _RENEWALS_PER_LEASE)
