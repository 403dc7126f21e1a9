"""What a process holds, counted from outside: everything below it, threads, descriptors, memory."""

from __future__ import annotations

import os
import threading
from dataclasses import asdict, dataclass

__all__ = ["Census", "descendants", "take"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """One count.

    Args:
        at_s: Seconds since the beginning.
        processes: Living descendants.
        threads: Threads of this process.
        descriptors: Its open descriptors.
        memory_mb: Its resident memory.
        zombies: Bodies that outlived their time-out.
        in_flight: Claimed calls at work.
        answered: Calls that have their result.
    """

    at_s: float
    processes: int
    threads: int
    descriptors: int
    memory_mb: float
    zombies: int = 0
    in_flight: int = 0
    answered: int = 0

    def row(self) -> dict[str, float]:
        """As plain data."""
        return asdict(self)


def descendants() -> list[int]:
    """All living processes below this one, whoever started them."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(name)] = int(parent)
    found, below = [], {os.getpid()}
    while True:
        new = {pid for pid, parent in parents.items() if parent in below and pid not in below}
        if not new:
            return found
        found += sorted(new)
        below |= new


def take(at_s: float, **counts: int) -> Census:
    """Count now."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return Census(
        at_s=round(at_s, 2),
        processes=len(descendants()),
        threads=threading.active_count(),
        descriptors=len(os.listdir("/proc/self/fd")),
        memory_mb=round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
        **counts,
    )
