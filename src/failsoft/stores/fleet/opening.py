"""From a URL to a fleet's store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from failsoft.core.errors import UsageError
from failsoft.stores.fleet.memory import MemoryFleet

if TYPE_CHECKING:
    from failsoft.stores.fleet.port import FleetStore

__all__ = ["open_fleet"]

_lock = threading.Lock()
_named: dict[str, MemoryFleet] = {}
_SCHEMES = ("redis://", "rediss://", "unix://")


def open_fleet(url: str, *, name: str = "default") -> FleetStore:
    """A store for what many processes share. Nothing is connected before it is first used.

    Args:
        url: `redis://...`, `rediss://...` or `unix://...`, for Redis and Valkey; `memory://NAME`, shared by the
            harnesses of this process that use that name.
        name: Which fleet: those of one name in one store share their state.

    Raises:
        UsageError: For any other URL, or where a package is missing.
    """
    if url.startswith("valkey"):
        url = url.replace("valkeys://", "rediss://").replace("valkey://", "redis://")
    if url.startswith(_SCHEMES):
        from failsoft.stores.fleet.redis import RedisFleet

        return RedisFleet(url, name=name)
    if url == "memory" or url.startswith("memory://"):
        with _lock:
            return _named.setdefault(
                f"{url.removeprefix('memory').removeprefix('://')} {name}", MemoryFleet()
            )
    raise UsageError(
        f"fleet must be 'redis://HOST:PORT/DB' or 'memory://NAME', got {url!r}\n\nhint: leave fleet out for one process"
    )
