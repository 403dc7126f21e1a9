"""From a URL to a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from failsoft.core.errors import UsageError
from failsoft.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.stores.engine import EngineStore

__all__ = ["open_store"]


def open_store(url: str, *, wall: Callable[[], float] = time.time) -> EngineStore:
    """A store for ledger and journal. Nothing is opened, made or connected before it is first used.

    Args:
        url: `memory`; `sqlite:///FILE`, an absolute file with four slashes; `postgresql://...`.
        wall: Tells wall time to memory and SQLite; PostgreSQL uses the server's.

    Raises:
        UsageError: For any other URL, or where a package is missing.
    """
    if url in ("memory", "memory://"):
        return MemoryStore(wall=wall)
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        from failsoft.stores.sqlite import SQLiteStore  # 5 ms of import that memory does not need

        return SQLiteStore(url.removeprefix("sqlite:///"), wall=wall)
    if url.startswith(("postgresql://", "postgres://")):
        from failsoft.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise UsageError(
        f"store must be 'memory', 'sqlite:///FILE' or 'postgresql://...', got {url!r}\n\n"
        "hint: an absolute file has four slashes, 'sqlite:////var/lib/failsoft.db'"
    )
