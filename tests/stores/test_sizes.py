"""What is old and what is long does not hold up those who call."""

import asyncio
import threading
from functools import partial

import pytest

from failsoft.ledger.decide import Go, Replay
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import engine, open_store, operations
from failsoft.testing.store_suite import Wall, make_intent


@pytest.fixture(params=["memory", "sqlite"])
def kept(request, tmp_path):
    """A store, and its wall time."""
    wall = Wall()
    url = "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/failsoft.db"
    return open_store(url, wall=wall), wall


async def done(store, order: int, result: str = "1") -> None:
    """One call that succeeded."""
    intent = make_intent({"order": order})
    assert isinstance(await store.begin(intent), Go)
    assert (
        await store.settle(
            intent.key, intent.owner_token, Settlement(state=ClaimState.SUCCEEDED, result=result)
        )
    ).ok


async def test_pruning_goes_in_parts_and_lets_others_in_between(kept, monkeypatch) -> None:
    """Years of rows are forgotten some at a time; a claim that comes meanwhile does not wait for all of them."""
    store, wall = kept
    monkeypatch.setattr(engine, "_PRUNE_ROWS", 5)
    for order in range(23):
        await done(store, order)
    wall.advance(100)
    await done(store, 100)
    pruning = asyncio.ensure_future(store.prune(50))
    await asyncio.sleep(0)
    await done(store, 101)
    assert await pruning == 23
    assert isinstance(await store.look(make_intent({"order": 0})), Go)
    for order in (100, 101):
        assert isinstance(await store.look(make_intent({"order": order})), Replay)
    await store.close()


async def test_a_long_result_is_not_written_on_the_callers_loop(tmp_path, monkeypatch) -> None:
    """Its bytes take milliseconds: they go to the writer's thread, and come back whole."""
    store = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    await store.doubts()
    where = []
    plain = operations.settle

    def settle(*args, **kwargs):
        where.append(threading.current_thread() is threading.main_thread())
        return plain(*args, **kwargs)

    monkeypatch.setattr(operations, "settle", settle)
    await done(store, 1, "x" * 2_000_000)
    assert where == [False]
    verdict = await store.look(make_intent({"order": 1}))
    assert len(verdict.record.result) == 2_000_000
    await store.close()


async def test_an_output_without_end_is_kept_up_to_a_limit(kept, monkeypatch) -> None:
    """What is left out is said, at the place where it is missing."""
    store, _ = kept
    monkeypatch.setattr(engine, "BLOB_LIMIT_CHARS", 100)
    put = partial(store.put_blob, "default", "run")
    whole, cut = await put("x" * 100), await put("x" * 107)
    soon = store.put_blob_soon("default", "run", "y" * 107)
    assert await store.get_blob(whole, "default", "run") == "x" * 100
    assert await store.get_blob(cut, "default", "run") == "x" * 100 + "\n[7 more characters were not kept]"
    assert (await store.get_blob(soon, "default", "run")).startswith("y" * 100)
    await store.close()
