"""Memory, Valkey and Redis pass the same checks."""

import itertools

import pytest

from failsoft.stores.fleet.memory import MemoryFleet
from failsoft.stores.fleet.redis import RedisFleet
from failsoft.testing.fleet_suite import FLEET_CHECKS, FleetCheck

numbers = itertools.count()


@pytest.mark.parametrize("check", FLEET_CHECKS.values(), ids=FLEET_CHECKS)
async def test_memory(check: FleetCheck) -> None:
    """The store in memory does what a fleet's store must do."""
    await check(MemoryFleet())


@pytest.mark.server
@pytest.mark.parametrize("check", FLEET_CHECKS.values(), ids=FLEET_CHECKS)
async def test_server(check: FleetCheck, either_server) -> None:
    """A server does what a fleet's store must do."""
    store = RedisFleet(either_server.url, name=f"suite{next(numbers)}", timeout_s=2)
    try:
        await check(store)
    finally:
        await store.aclose()
