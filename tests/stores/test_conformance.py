"""Every store, one suite."""

import pytest

from failsoft.stores import open_store
from failsoft.testing.store_suite import STORE_CHECKS, StoreCheck, Wall


@pytest.fixture(params=["memory", "sqlite", "sqlite-thread"])
def make(request: pytest.FixtureRequest, tmp_path):
    """Makes stores on one place: memory, a file, and a file whose disk is never quick."""

    def open_one(wall: Wall):
        if request.param == "memory":
            return open_store("memory", wall=wall)
        store = open_store(f"sqlite:///{tmp_path}/deep/failsoft.db", wall=wall)
        store._writer._may_block = request.param == "sqlite"
        return store

    return open_one


@pytest.mark.parametrize("check", STORE_CHECKS.values(), ids=STORE_CHECKS)
async def test_the_store_keeps_the_suite(check: StoreCheck, make) -> None:
    """Every check of the public suite holds for this store."""
    wall = Wall()
    store = make(wall)
    await check(store, wall)
    await store.close()
