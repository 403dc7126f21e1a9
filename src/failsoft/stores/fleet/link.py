"""The breakers of one process as members of a fleet.

    here                                          store                       the others
    trips ──────────────────────▶ open, first one wins ──── message ────▶ open for what is left of it
    opening over, a call comes ─▶ lease, one for all   ──── message ────▶ stay open while the probe runs
    probe succeeded ────────────▶ close                ──── message ────▶ close
    probe failed ───────────────▶ open, longer         ──── message ────▶ open for what is left of it

Rules of this file
- A closed breaker asks nobody. An open one asks nobody until its opening is over.
- What was decided here holds here at once and is sent afterwards; what the store answers is followed.
- Without the store everybody goes on alone, but the processes of one machine still probe one after another.
- What is done by hand to one breaker stays in its process.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import secrets
import threading
import time
import weakref
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from failsoft.stores.fleet._engine import Engine
from failsoft.stores.fleet._places import Place, Places
from failsoft.stores.fleet.port import FleetError, Wish

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable, Coroutine

    from failsoft.core.clock import Clock
    from failsoft.policies import BreakerChange, BreakerState
    from failsoft.stores.fleet.port import FleetStore, SharedBreaker

__all__ = ["FleetLink", "member_of"]

T = TypeVar("T")

FLEET = "fleet"
_KNOWN_BEFORE = "fleet_known"  # a breaker that is made while the fleet has it open: nothing has changed
_MAX_NAME = 120
_MAX_SEEN = 20_000
_PATIENCE_S = 1.0
_MOMENT_S = 0.2
# The store's clock may be set back: changes of the last seconds are read again, and those that are known are dropped.
_OVERLAP = 5_000_000


def member_of(tool_name: str, key: str) -> str:
    """The name of one breaker in the fleet: the tool, and the key's word where it has one for each word."""
    if len(key) > _MAX_NAME:
        key = f"{key[:60]}…{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:16]}"
    name = f"{tool_name} {key}" if key else tool_name
    return name.encode(errors="backslashreplace").decode()


def _is_closed(breaker: BreakerState) -> bool:
    return breaker.state == "closed"


class _Lease:
    """The probe, in the hands of this process."""

    __slots__ = ("ends", "granted", "place", "token", "users")

    def __init__(self, token: str, place: Place) -> None:
        self.token, self.place = token, place
        self.users, self.granted, self.ends = 0, False, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """A local decision that the store has not confirmed."""

    after: str
    token: str
    opened: int = 0
    until: float = 0.0
    reason: str = ""


class FleetLink:
    """Connects breakers to a fleet: it is their sites' `gate`, and `changed` is their listener.

    Args:
        opener: Makes the store.
        fleet: Tells this fleet from others, for the locks of the machine.
        clock: Tells the time of the breakers.
        forward: Told of each change of a breaker here.
        tell: Told of trouble with the store (False, and what) and of its end (True, empty).
    """

    def __init__(
        self,
        opener: Callable[[], FleetStore],
        *,
        fleet: str,
        clock: Clock,
        forward: Callable[[BreakerChange], object],
        tell: Callable[[bool, str], object],
    ) -> None:
        self._monotonic = clock.monotonic
        self._forward = forward
        self._places = Places(fleet)
        self._states: weakref.WeakValueDictionary[str, BreakerState] = weakref.WeakValueDictionary()
        self._engine = Engine(opener, hear=self._follow, sync=self._sync, tell=tell, forked=self._begin)
        self._numbers = itertools.count(1)
        self._begin()

    def _begin(self) -> None:
        """Start with nothing known; again in a forked child, whose locks and leases were the parent's."""
        self._lock = threading.Lock()
        self._id = secrets.token_hex(6)
        self._held: dict[str, _Lease] = {}
        self._news: dict[str, _News] = {}
        self._seen: dict[str, int] = {}
        self._known: dict[str, tuple[SharedBreaker, float]] = {}
        self._cursor = 0

    def start(self) -> None:
        """Connect, in the background.

        Raises:
            UsageError: There can be no such store. One that is only not there is no reason to fail.
        """
        self._engine.start()

    @property
    def up(self) -> bool:
        """Whether the store answers, as far as is known."""
        return self._engine.up

    def submit(self, work: Callable[[FleetStore], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Ask the store something in the background; see `Engine.submit`."""
        return self._engine.submit(work)

    async def aclose(self) -> None:
        """Give back what is held and let go of the store."""
        await self._engine.aclose(self._farewell)
        for lease in self._held.values():
            lease.place.leave()

    def abandon(self) -> None:
        """As `aclose`, without waiting for it; from any thread."""
        self._engine.abandon()

    # ---- the gate: a probe asks the fleet ----

    async def admit(self, breaker: BreakerState, remaining_s: float) -> int:
        """See `ProbeGate`. One round trip, and only when a probe would go."""
        now = self._monotonic()
        if breaker.state == "closed" or breaker.retry_after(now) != 0:
            return breaker.admit(now)
        member = member_of(breaker.site.name, breaker.key)
        lease = self._join(member)
        if lease is None:
            # Somebody on this machine is at it: come again in a moment, if they have not told by then how it went.
            if not _is_closed(breaker):
                opened = breaker.stats(now).opened
                breaker.open(now, for_s=_MOMENT_S, reason=FLEET, opened=opened)
            return 0
        try:
            async with asyncio.timeout(min(remaining_s, _PATIENCE_S)):
                may_probe = await self._ask_for(member, lease, breaker)
        except TimeoutError:
            may_probe = False
        except BaseException:
            self._leave(member, lease)
            raise
        permit = breaker.probe(self._monotonic()) if may_probe else breaker.admit(self._monotonic())
        if not permit or _is_closed(breaker):
            self._leave(member, lease)
        else:
            lease.ends = time.monotonic() + breaker.site.lease_s
            self._engine.later(breaker.site.lease_s, lambda: self._drop(member, lease))
        return permit

    def let_go(self, breaker: BreakerState, permit: int) -> None:
        """See `ProbeGate`."""
        member = member_of(breaker.site.name, breaker.key)
        lease = self._held.get(member)
        if lease is not None:
            self._leave(member, lease)

    def joined(self, breaker: BreakerState) -> None:
        """See `ProbeGate`."""
        member = member_of(breaker.site.name, breaker.key)
        with self._lock:
            self._states[member] = breaker
            known = self._known.get(member)
        if known is not None:
            shared, until = known
            now = self._monotonic()
            breaker.open(now, for_s=max(0.0, until - now), reason=_KNOWN_BEFORE, opened=shared.opened)

    def _join(self, member: str) -> _Lease | None:
        """The lease of this process, or a place on this machine to ask for one."""
        with self._lock:
            lease = self._held.get(member)
            if lease is None:
                place = self._places.take(member)
                if place is None:
                    return None
                lease = self._held[member] = _Lease(f"{self._id}:{next(self._numbers)}", place)
            lease.users += 1
            return lease

    async def _ask_for(self, member: str, lease: _Lease, breaker: BreakerState) -> bool:
        """Whether a probe may go: the store gave its lease, or is away."""
        if not self._engine.up:
            return True
        wish = Wish(
            member=member, owner=lease.token, seen=self._seen.get(member, 0), span_s=breaker.site.lease_s
        )
        try:
            asked = self.submit(lambda store: self._leased(store, wish, lease))
            # Shielded: a cancelled call must not leave the answer unread, or nobody would know who holds the lease.
            answer = await asyncio.shield(asyncio.wrap_future(asked))
        except FleetError:
            return True
        if not answer.granted:
            self._follow(answer, again=True)
        return answer.granted

    async def _leased(self, store: FleetStore, wish: Wish, lease: _Lease) -> SharedBreaker:
        answer = await store.lease(wish)
        if answer.granted:
            self._note(answer)
            lease.granted = True
            with self._lock:
                unused = lease.users == 0  # its call was cancelled meanwhile
            if unused:
                await store.give_back(wish)
        return answer

    def _leave(self, member: str, lease: _Lease) -> None:
        """One user less; after the last one the lease goes back."""
        with self._lock:
            lease.users -= 1
            if lease.users > 0 or self._held.get(member) is not lease:
                return
            del self._held[member]
            if lease.granted:
                self._news.setdefault(member, _News(after="given_back", token=lease.token))
        lease.place.leave()
        if lease.granted:
            self._engine.ring()

    def _drop(self, member: str, lease: _Lease) -> None:
        """The lease is over, unless it was renewed: whoever asks next may have it."""
        if time.monotonic() < lease.ends - 0.001:
            return
        with self._lock:
            if self._held.get(member) is lease:
                del self._held[member]
        lease.place.leave()

    # ---- out: what was decided here ----

    def changed(self, change: BreakerChange) -> None:
        """A breaker of this process has changed; in the thread of the call that caused it."""
        if change.reason not in (FLEET, _KNOWN_BEFORE, "manual"):
            self._send(change)
        if change.reason != _KNOWN_BEFORE and not (change.reason == FLEET and change.before == change.after):
            self._forward(change)

    def _send(self, change: BreakerChange) -> None:
        if change.after == "half_open":
            return
        member = member_of(change.name, change.key)
        breaker = self._states.get(member)
        opened = 0 if breaker is None else breaker.stats(change.at).opened
        with self._lock:
            lease = self._held.pop(member, None)
            self._news[member] = _News(
                after=change.after,
                token=self._id if lease is None else lease.token,
                opened=opened,
                until=change.at + change.open_s,
                reason=change.reason,
            )
        if lease is not None:
            lease.place.leave()
        self._engine.ring()

    async def _sync(self, store: FleetStore, is_back: bool) -> None:
        """Send what is not sent, and read what was missed; everything when the store is back."""
        if is_back:
            self._repeat_openings()
            self._cursor = 0
        for member, news in list(self._news.items()):
            answer = await self._send_one(store, member, news)
            with self._lock:
                if self._news.get(member) is news:
                    del self._news[member]
            if answer.granted:
                self._note(answer)
            else:
                self._follow(answer, again=True)
        for shared in await store.changes(max(0, self._cursor - _OVERLAP)):
            self._cursor = max(self._cursor, shared.generation)
            self._follow(shared)

    async def _send_one(self, store: FleetStore, member: str, news: _News) -> SharedBreaker:
        wish = Wish(member=member, owner=news.token, seen=self._seen.get(member, 0), opened=news.opened)
        if news.after == "open":
            span_s = max(0.0, news.until - self._monotonic())
            return await store.open(replace(wish, span_s=span_s, reason=news.reason))
        return await (store.close(wish) if news.after == "closed" else store.give_back(wish))

    def _repeat_openings(self) -> None:
        """A store that comes back may have forgotten all: say again what is open here."""
        now = self._monotonic()
        for member, breaker in list(self._states.items()):
            left_s = breaker.retry_after(now)
            if breaker.state == "open" and left_s:
                opened, token = breaker.stats(now).opened, self._id
                news = _News(after="open", token=token, opened=opened, until=now + left_s, reason="repeated")
                with self._lock:
                    self._news.setdefault(member, news)

    async def _farewell(self, store: FleetStore) -> None:
        await self._sync(store, False)
        for member, lease in list(self._held.items()):
            if lease.granted:
                await store.give_back(Wish(member=member, owner=lease.token))

    # ---- in: what the rest of the fleet has decided ----

    def _note(self, shared: SharedBreaker, *, again: bool = False) -> bool:
        """Remember the state; False when it is known."""
        with self._lock:
            seen = self._seen.get(shared.member, 0)
            if shared.generation < seen or (shared.generation == seen and not again):
                return False
            self._seen[shared.member] = shared.generation
            if shared.state in ("open", "half_open"):
                self._known[shared.member] = (shared, self._monotonic() + shared.left_s)
            else:
                self._known.pop(shared.member, None)
            if len(self._seen) > _MAX_SEEN:  # only those matter that changed lately
                for member in list(itertools.islice(self._seen, _MAX_SEEN // 2)):
                    del self._seen[member]
                    self._known.pop(member, None)
            return True

    def _follow(self, shared: SharedBreaker, *, again: bool = False) -> None:
        """Do here what was done elsewhere; what came from here is only noted."""
        is_new = self._note(shared, again=again)
        breaker = self._states.get(shared.member)
        if not is_new or breaker is None or shared.owner.startswith(self._id):
            return
        now = self._monotonic()
        if breaker.stats(now).held:
            return
        if shared.state == "closed":
            if breaker.state != "closed":
                breaker.close(now, reason=FLEET)
        elif shared.state != "none":
            breaker.open(now, for_s=shared.left_s, reason=FLEET, opened=shared.opened)

    def __repr__(self) -> str:
        return f"FleetLink({'up' if self.up else 'down'}, breakers={len(self._states)})"
