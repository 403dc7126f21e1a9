"""fleet owns what many processes share: a breaker's state, its one probe, turns of a rate; in memory or Redis/Valkey."""

from __future__ import annotations

from failsoft.stores.fleet.link import FleetLink
from failsoft.stores.fleet.opening import open_fleet
from failsoft.stores.fleet.port import FleetError, FleetStore
from failsoft.stores.fleet.turns import FleetTurns

__all__ = ["FleetError", "FleetLink", "FleetStore", "FleetTurns", "open_fleet"]
