"""Every store, one suite."""

import asyncio

import pytest

from failsoft.ledger.decide import Go, Replay, Running
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.stores.engine import at_hand
from failsoft.stores.memory import MemoryStore
from failsoft.testing.store_suite import STORE_CHECKS, StoreCheck, Wall, make_intent


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


@pytest.mark.parametrize("url", ["memory", "sqlite:///{}/failsoft.db"])
async def test_what_needs_no_waiting_is_had_without(tmp_path, url: str) -> None:
    """The verbs without a wait say the same as the others, or nothing at all; and what they say is kept."""
    store, intent = open_store(url.format(tmp_path)), make_intent({"order": 1})
    if url != "memory":
        assert store.begin_nowait(intent) is None  # not open yet: nothing is claimed
        await store.doubts()
    assert isinstance(store.look_nowait(intent), Go)
    assert isinstance(store.begin_nowait(intent), Go)
    assert isinstance(store.look_nowait(make_intent({"order": 1})), Running)
    await asyncio.sleep(0)
    settlement = Settlement(state=ClaimState.SUCCEEDED, result="1")
    assert store.settle_nowait(intent.key, intent.owner_token, settlement).ok
    await store.close()
    if url != "memory":
        store = open_store(url.format(tmp_path))
    assert isinstance(await store.look(make_intent({"order": 1})), Replay)
    await store.close()


async def test_a_verb_of_ones_own_is_the_one_that_is_asked(tmp_path) -> None:
    """Whoever overrides or wraps a verb is not passed by."""

    class Own(MemoryStore):
        async def begin(self, intent):
            return await super().begin(intent)

    wrapped = MemoryStore()
    wrapped.settle = wrapped.settle
    plain = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    assert at_hand(plain) is plain
    assert at_hand(Own()) is None
    assert at_hand(wrapped) is None
