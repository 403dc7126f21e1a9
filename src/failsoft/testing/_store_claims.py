"""Checks of a store: claims, keys, texts and keeping."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from failsoft.ledger.decide import Go, InDoubt, Mismatch, Replay, Running
from failsoft.ledger.records import Intent, Settled, Settlement
from failsoft.testing._store_kit import (
    FAILED,
    IN_DOUBT,
    SUCCEEDED,
    begin,
    check,
    doubtful,
    end,
    make_intent,
    must,
)

if TYPE_CHECKING:
    from failsoft.ledger.port import LedgerStore
    from failsoft.testing._store_kit import Wall


@check
async def a_success_is_replayed_in_its_run_only(store: LedgerStore, wall: Wall) -> None:
    """Exact result in the same run; a fresh claim in another run."""
    first = make_intent({"order": 1})
    await begin(store, first)
    must((await end(store, first, SUCCEEDED, result='{"é": "\\ud800 x"}')).ok, "not settled")
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == '{"é": "\\ud800 x"}', f"result was changed: {verdict.record.result!r}")
    must(verdict.record.settled_at == wall.at, "not settled in the store's time")
    await begin(store, make_intent({"order": 1}, run_id="run_2"), Go)


@check
async def a_long_result_is_replayed_whole(store: LedgerStore, wall: Wall) -> None:
    """A megabyte comes back byte for byte, also when the key is claimed again later."""
    text = "0123456789" * 100_000
    first = make_intent({"order": 1})
    await begin(store, first)
    await end(store, first, SUCCEEDED, result=text)
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == text, "a long result was not kept whole")


@check
async def what_is_not_protected_runs_again_after_a_success(store: LedgerStore, wall: Wall) -> None:
    """Undeclared tools, and calls without a run, remember doubts only."""
    for fields in ({"protected": False}, {"run_id": None}):
        first = make_intent({"order": 1}, **fields)
        await begin(store, first)
        await end(store, first, SUCCEEDED)
        again = make_intent({"order": 1}, **fields)
        await begin(store, again, Go)
        must((await end(store, first, FAILED)).ok is False, "an old owner settled somebody else's claim")
        must((await end(store, again, SUCCEEDED)).ok, "the new owner could not settle")


@check
async def a_running_key_is_claimed_once(store: LedgerStore, wall: Wall) -> None:
    """Of many at the same time one goes, and the others meet it running."""
    intents = [make_intent({"order": 1}) for _ in range(20)]
    verdicts = await asyncio.gather(*(store.begin(intent) for intent in intents))
    must(sum(isinstance(verdict, Go) for verdict in verdicts) == 1, "not exactly one claimed the key")
    running = [verdict for verdict in verdicts if isinstance(verdict, Running)]
    must(len(running) == 19, "the others did not meet it running")
    must(0 < running[0].come_back_s <= 60, f"come back in {running[0].come_back_s}")


@check
async def another_occurrence_is_another_call(store: LedgerStore, wall: Wall) -> None:
    """A deliberate second time has a claim of its own."""
    first = make_intent({"order": 1})
    await begin(store, first)
    await end(store, first, SUCCEEDED)
    await begin(store, make_intent({"order": 1}, occurrence=2), Go)


@check
async def a_certain_failure_may_be_tried_afresh(store: LedgerStore, wall: Wall) -> None:
    """`failed` means that nothing happened."""
    first = make_intent({"order": 1})
    await begin(store, first)
    await end(store, first, FAILED, error='{"kind": "network"}')
    await begin(store, make_intent({"order": 1}), Go)


@check
async def a_callers_key_is_remembered_and_bound(store: LedgerStore, wall: Wall) -> None:
    """Its successes are replayed even without a run; other arguments under it are refused."""
    first = make_intent({"order": 1}, key="refund-1", run_id=None, protected=False)
    await begin(store, first)
    await end(store, first, SUCCEEDED, result="1")
    await begin(store, make_intent({"order": 1}, key="refund-1", run_id=None, protected=False), Replay)
    verdict = await begin(store, make_intent({"order": 2}, key="refund-1", run_id=None), Mismatch)
    must(verdict.reason == "arguments", verdict.reason)
    wrong = make_intent({"order": "x"}, key="refund-2")
    await begin(store, wrong)
    await end(store, wrong, FAILED)
    await begin(store, make_intent({"order": 2}, key="refund-2"), Go)


@check
async def a_result_of_another_version_is_not_replayed(store: LedgerStore, wall: Wall) -> None:
    """What another version of the tool did is refused with the reason."""
    first = make_intent({"order": 1}, tool_version="1")
    await begin(store, first)
    await end(store, first, SUCCEEDED)
    verdict = await begin(store, make_intent({"order": 1}, tool_version="2"), Mismatch)
    must(verdict.reason == "tool_version", verdict.reason)


@check
async def a_lease_is_renewed_by_its_owner_only(store: LedgerStore, wall: Wall) -> None:
    """And only while it runs."""
    intent = make_intent({"order": 1})
    await begin(store, intent)
    wall.advance(50)
    must(not await store.renew(intent.key, "somebody", 60), "a foreign token renewed the lease")
    must(await store.renew(intent.key, intent.owner_token, 60), "the owner could not renew")
    wall.advance(50)
    await begin(store, make_intent({"order": 1}), Running)
    await end(store, intent, SUCCEEDED)
    must(not await store.renew(intent.key, intent.owner_token, 60), "a settled claim was renewed")


@check
async def an_idempotency_key_is_reused_while_it_is_good(store: LedgerStore, wall: Wall) -> None:
    """After a failure and over a doubt, in any run, within its life; a success over a doubt resolves it."""

    def intent(new: str, run_id: str = "run_1") -> Intent:
        return make_intent({"order": 1}, run_id=run_id, idempotency_key=new, key_ttl_s=100)

    first = intent("k1")
    must((await begin(store, first)).idempotency_key == "k1", "the new key was not used")
    await end(store, first, FAILED)
    second = intent("k2")
    must((await begin(store, second)).idempotency_key == "k1", "the key was not reused after a failure")
    opened = (await end(store, second, IN_DOUBT)).doubt
    third = intent("k3", "run_2")
    must((await begin(store, third)).idempotency_key == "k1", "the key was not reused over a doubt")
    still = (await end(store, third, FAILED)).doubt
    must(
        still is not None and opened is not None and still.id == opened.id, "a failed repeat closed the doubt"
    )
    fourth = intent("k4", "run_3")
    await begin(store, fourth)
    await end(store, fourth, SUCCEEDED, result="1")
    must(not await store.doubts(), "the repeat's success did not resolve the doubt")
    for run_id in ("run_1", "run_2", "run_3"):
        verdict = await begin(store, intent("k5", run_id), Replay)
        must(verdict.record.result == "1", f"{verdict!r}")


@check
async def an_old_idempotency_key_is_not_reused(store: LedgerStore, wall: Wall) -> None:
    """Beyond its life a doubt blocks like any other, and a fresh attempt takes a fresh key."""
    first = make_intent({"order": 1}, idempotency_key="k1", key_ttl_s=100)
    await begin(store, first)
    await end(store, first, IN_DOUBT)
    other = make_intent({"order": 2}, idempotency_key="k2", key_ttl_s=100)
    await begin(store, other)
    await end(store, other, FAILED)
    wall.advance(101)
    await begin(store, make_intent({"order": 1}, idempotency_key="k3", key_ttl_s=100), InDoubt)
    fresh = await begin(store, make_intent({"order": 2}, idempotency_key="k4", key_ttl_s=100))
    must(fresh.idempotency_key == "k4", "an old key was reused")


@check
async def a_deliberate_repeat_takes_a_new_idempotency_key(store: LedgerStore, wall: Wall) -> None:
    """Under the old one the outside world would not repeat it."""
    first = make_intent({"order": 1}, run_id=None, idempotency_key="k1")
    await begin(store, first)
    await end(store, first, SUCCEEDED)
    again = await begin(store, make_intent({"order": 1}, run_id=None, idempotency_key="k2"))
    must(again.idempotency_key == "k2", "the old key was reused")


@check
async def settle_soon_is_written(store: LedgerStore, wall: Wall) -> None:
    """From another thread, and its callback is called once."""
    intent = make_intent({"order": 1})
    await begin(store, intent)
    told: asyncio.Queue[Settled] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def note(settled: Settled) -> None:
        loop.call_soon_threadsafe(told.put_nowait, settled)

    settlement = Settlement(state=SUCCEEDED, result="1")
    await asyncio.to_thread(store.settle_soon, intent.key, intent.owner_token, settlement, note)
    must((await told.get()).ok, "not settled")
    await begin(store, make_intent({"order": 1}), Replay)


@check
async def a_stranger_settles_nothing(store: LedgerStore, wall: Wall) -> None:
    """Neither an unknown key nor a foreign token."""
    intent = make_intent({"order": 1})
    for settlement_state in (SUCCEEDED, FAILED, IN_DOUBT):
        must(not (await end(store, intent, settlement_state)).ok, "an unknown claim was settled")
    await begin(store, intent)
    for settlement_state in (SUCCEEDED, FAILED, IN_DOUBT):
        must(not (await end(store, make_intent({"order": 1}), settlement_state)).ok, "a stranger settled")
    must((await end(store, intent, SUCCEEDED)).ok, "the owner could not settle")


@check
async def a_cancelled_begin_claims_nothing(store: LedgerStore, wall: Wall) -> None:
    """Wherever the cancel lands, the key is free afterwards."""
    for turns in range(6):
        task = asyncio.ensure_future(store.begin(make_intent({"order": turns})))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(outcome, asyncio.CancelledError):
            await begin(store, make_intent({"order": turns}), Go)


@check
async def blobs_are_bound_to_scope_and_run(store: LedgerStore, wall: Wall) -> None:
    """A handle of another run or scope gets nothing; odd text does not break the store."""
    handle = await store.put_blob("a", "run_1", "text")
    soon = store.put_blob_soon("a", None, "soon \ud800")
    must(await store.get_blob(handle, "a", "run_1") == "text", "not kept")
    must((await store.get_blob(soon, "a", None) or "").startswith("soon "), "not kept soon")
    for scope, run_id in (("b", "run_1"), ("a", "run_2"), ("a", None)):
        must(await store.get_blob(handle, scope, run_id) is None, "given to a stranger")
    must(await store.get_blob("out_none", "a", "run_1") is None, "made up")


@check
async def pruning_keeps_what_is_unresolved(store: LedgerStore, wall: Wall) -> None:
    """Ended claims, resolved doubts and texts go; running claims and open doubts stay."""
    ended, running = make_intent({"order": 1}), make_intent({"order": 2}, lease_s=1e9)
    await begin(store, ended)
    await end(store, ended, SUCCEEDED)
    await begin(store, running)
    await doubtful(store, make_intent({"order": 3}))
    resolved = await doubtful(store, make_intent({"order": 4}))
    await store.resolve(resolved.id, happened=True, by="ada")
    handle = await store.put_blob("default", None, "text")
    must(await store.prune(10) == 0, "something young was pruned")
    wall.advance(100)
    must(await store.prune(10) == 4, "wanted 2 claims, 1 doubt and 1 text to go")
    await begin(store, make_intent({"order": 1}), Go)
    await begin(store, make_intent({"order": 2}), Running)
    await begin(store, make_intent({"order": 3}), InDoubt)
    must(await store.get_blob(handle, "default", None) is None, "a text stayed")
    must(await store.doubt(resolved.id) is None, "a resolved doubt stayed")


@check
async def closing_twice_is_fine(store: LedgerStore, wall: Wall) -> None:
    """And what comes after it is still written: a late outcome is never lost."""
    intent = make_intent({"order": 1})
    await begin(store, intent)
    await store.close()
    store.settle_soon(intent.key, intent.owner_token, Settlement(state=SUCCEEDED))
    await store.close()
    await begin(store, make_intent({"order": 1}), Replay)
    await store.close()
