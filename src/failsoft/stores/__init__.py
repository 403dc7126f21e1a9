"""stores owns the keeping: ledger and journal in memory, SQLite or PostgreSQL, behind one port.

`open_store(url)` is the door.
"""

from __future__ import annotations

from failsoft.stores.opening import open_store

__all__ = ["open_store"]
