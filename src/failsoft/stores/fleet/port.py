"""What a fleet's store must do: four steps of a breaker, what changed, and turns of a rate. Each verb is one atomic step.

    none ──(open)──▶ open ──(lease)──▶ half_open ──(close)──▶ closed
                      ▲ ▲                 │ │                   │
                      │ └──(open, give_back)┘                   │
                      └──────────────────(open)─────────────────┘

Rules of this file
- The first opening wins: whoever opens what is open is told of the opening that runs, and starts no timer of its own.
- While a lease runs, only its holder moves the breaker. A lease that is over may be taken by anybody.
- Each step has a generation that grows; a step that was decided on an older one than the last closing changes nothing.
- Time is the store's. What is handed out are seconds that remain, because no two machines have the same clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FORMAT", "Block", "FleetError", "FleetState", "FleetStore", "SharedBreaker", "Wish"]

FleetState = Literal["none", "closed", "open", "half_open"]
FORMAT = 1
"""Version of keys and messages; two formats in one store do not see each other."""


class FleetError(Exception):
    """The store could not be asked, or did not answer in time; the cause is its client's own error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBreaker:
    """A breaker as the fleet sees it.

    Args:
        member: Which one; see `member_of` in `link.py`.
        state: `none` where the store knows nothing of it.
        generation: Grows with each change; microseconds of the store's clock, so that it grows also when all is lost.
        left_s: Seconds until the opening or the lease ends; 0 where there is none or it is over.
        opened: Openings since it was last closed.
        owner: Who holds, or last held, the probe's lease.
        reason: Why it opened.
        granted: Whether the step that gave this record was carried out.
    """

    member: str
    state: FleetState = "none"
    generation: int = 0
    left_s: float = 0.0
    opened: int = 0
    owner: str = ""
    reason: str = ""
    granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One step that a process asks for.

    Args:
        member: Which breaker.
        owner: Who asks; the same word for the same lease.
        seen: The last generation that the process knows of; 0 for none.
        span_s: Seconds of the opening, or of the lease.
        opened: Openings in a row, as the process has counted.
        reason: Why it opens.
    """

    member: str
    owner: str
    seen: int = 0
    span_s: float = 0.0
    opened: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Turns of a rate.

    Args:
        turns: How many were taken; 0 when the next one is too far away.
        wait_s: Seconds until the first of them is due.
    """

    turns: int
    wait_s: float


class FleetStore(Protocol):
    """Keeps what many processes share. All verbs run on one event loop and raise `FleetError` for trouble."""

    async def open(self, wish: Wish) -> SharedBreaker:
        """Open for `span_s`, unless it is open, or somebody else probes, or it was closed since `seen`."""
        ...

    async def lease(self, wish: Wish) -> SharedBreaker:
        """Take the one probe for `span_s`, where no opening and no lease of another runs and nobody closed it since."""
        ...

    async def close(self, wish: Wish) -> SharedBreaker:
        """Close, as holder of the lease, or when nothing has happened since `seen`, or nothing is remembered."""
        ...

    async def give_back(self, wish: Wish) -> SharedBreaker:
        """Give the lease back without an outcome: the next one may probe at once."""
        ...

    async def changes(self, since: int) -> Sequence[SharedBreaker]:
        """The breakers that changed after that generation; 0 for all that are remembered."""
        ...

    async def listen(self, on_change: Callable[[SharedBreaker], object]) -> None:
        """Hand on each change of others as it comes, until cancelled.

        Raises:
            FleetError: The line broke.
        """
        ...

    async def take(
        self, member: str, *, calls: int, per_s: float, burst: int, turns: int, max_wait_s: float
    ) -> Block:
        """Take up to `turns` turns of a rate that may go now, else the next one if it is due within `max_wait_s`."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...
