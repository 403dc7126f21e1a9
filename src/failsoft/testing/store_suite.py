"""What every ledger store must do, as checks that any test runner can call.

    @pytest.mark.parametrize("check", STORE_CHECKS.values(), ids=STORE_CHECKS)
    async def test_store(check):
        wall = Wall()
        store = MyStore(wall=wall)
        await check(store, wall)
        await store.close()

Each check needs an empty store, or a scope that nobody else uses.
"""

from __future__ import annotations

from failsoft.testing import _store_claims, _store_doubts, _store_runs
from failsoft.testing._store_kit import STORE_CHECKS, StoreCheck, Wall, make_intent

__all__ = ["STORE_CHECKS", "StoreCheck", "Wall", "make_intent"]

_ = _store_claims, _store_doubts, _store_runs  # imported for the checks that they register
