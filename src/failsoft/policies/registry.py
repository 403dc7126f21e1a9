"""Breakers by key: made when first asked for, bounded, and never forgetting one that matters."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from failsoft.policies.breaker_state import BreakerState, new_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.policies._breaker_site import BreakerSite, BreakerStats

__all__ = ["BreakerRegistry"]

_log = logging.getLogger("failsoft.policies")
# Looks per new key for one to drop: constant work, and the hand goes on from there at the next new key.
_LOOKS = 8


class BreakerRegistry:
    """One breaker for each word that the options' key function gives; safe for threads.

    Least recently used in one bit ("second chance"): a hit sets a flag and costs no list. An open breaker is never
    dropped; one whose call still runs is dropped from the bound but found again as long as somebody holds it.
    When all are open the bound is passed: each of them cost several failures of its own.
    """

    __slots__ = ("_dropped", "_grumbled", "_lock", "_order", "_states", "site")

    def __init__(self, site: BreakerSite) -> None:
        self.site = site
        self._states: dict[str, BreakerState] = {}
        self._order: deque[str] = deque()
        self._dropped: WeakValueDictionary[str, BreakerState] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._grumbled = False

    def __len__(self) -> int:
        return len(self._states)

    def key_of(self, arguments: Mapping[str, Any]) -> str:
        """The word for `arguments`; the empty one where there is no key function or it raises (logged once)."""
        key = self.site.options.key
        if key is None:
            return ""
        try:
            return str(key(arguments))
        except Exception:
            if not self._grumbled:
                self._grumbled = True
                _log.exception("Breaker.key of %r raised; such calls share one breaker", self.site.name)
            return ""

    def get(self, key: str, now: float) -> BreakerState:
        """The breaker of `key`, made when there is none."""
        state = self._states.get(key)
        if state is not None:
            state.used = True
            return state
        with self._lock:
            state = self._states.get(key)
            if state is None:
                if len(self._states) >= self.site.options.max_keys:
                    self._drop_one(now)
                state = self._dropped.pop(key, None) or new_state(self.site, key)
                self._states[key] = state
                self._order.append(key)
            return state

    def _drop_one(self, now: float) -> None:
        spare: str | None = None
        for _ in range(min(_LOOKS, len(self._order))):
            key = self._order.popleft()
            state = self._states[key]
            idle = state.is_idle(now)
            if idle and not state.used:
                spare = key if spare is None else self._keep(spare, key)
                break
            state.used = False
            if idle and spare is None:
                spare = key
            else:
                self._order.append(key)
        if spare is not None:
            self._dropped[spare] = self._states.pop(spare)

    def _keep(self, kept: str, dropped: str) -> str:
        self._order.append(kept)
        return dropped

    def stats(self, now: float) -> tuple[BreakerStats, ...]:
        """All breakers, those that are not closed first."""
        rows = [state.stats(now) for state in list(self._states.values())]
        return tuple(sorted(rows, key=lambda row: (row.state == "closed", row.key)))

    def __repr__(self) -> str:
        return f"BreakerRegistry({self.site.name!r}, keys={len(self._states)})"
