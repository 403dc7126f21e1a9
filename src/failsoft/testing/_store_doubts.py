"""Checks of a store: doubts, from their opening to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.ledger.decide import Go, InDoubt, NearDoubt, Replay, Running
from failsoft.ledger.records import DoubtKind, DoubtState, doubt_id_of
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
    refused,
)

if TYPE_CHECKING:
    from failsoft.ledger.port import LedgerStore
    from failsoft.testing._store_kit import Wall


@check
async def a_doubt_blocks_the_identity_in_every_run(store: LedgerStore, wall: Wall) -> None:
    """Same run, other run, no run, other occurrence; not another scope, tool or argument."""
    opened = await doubtful(store, make_intent({"order": 1}))
    for fields in ({}, {"run_id": "run_2"}, {"run_id": None}, {"occurrence": 2}):
        verdict = await begin(store, make_intent({"order": 1}, **fields), InDoubt)
        must(verdict.doubt == opened, f"another doubt: {verdict.doubt!r}")
    await begin(store, make_intent({"order": 1}, scope="other"), Go)
    await begin(store, make_intent({"order": 1}, tool="refund"), Go)
    await begin(store, make_intent({"order": 2}), Go)
    must(opened.known == "timed out after 30 s" and opened.since == wall.at, f"{opened!r}")


@check
async def a_resolved_doubt_lets_the_truth_through(store: LedgerStore, wall: Wall) -> None:
    """Happened: replayed with the given result. Did not happen: may run afresh."""
    happened = await doubtful(store, make_intent({"order": 1}))
    done = await store.resolve(happened.id, happened=True, result='"r"', by="ada", evidence="saw it")
    must((done.state, done.resolved_by, done.evidence) == (DoubtState.HAPPENED, "ada", "saw it"), f"{done!r}")
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == '"r"' and verdict.record.doubt_id == happened.id, f"{verdict!r}")
    not_happened = await doubtful(store, make_intent({"order": 2}))
    await store.resolve(not_happened.id, happened=False, by="ada")
    await begin(store, make_intent({"order": 2}), Go)


@check
async def a_doubt_is_resolved_once(store: LedgerStore, wall: Wall) -> None:
    """The same word twice is fine, the opposite is refused, and so is an unknown id."""
    opened = await doubtful(store, make_intent({"order": 1}))
    await store.resolve(opened.id, happened=True, by="ada")
    again = await store.resolve(opened.id, happened=True, by="bob")
    must(again.resolved_by == "ada", "the first word was overwritten")
    await refused(store.resolve(opened.id, happened=False, by="bob"), "already_resolved")
    await refused(store.resolve("doubt_none", happened=False, by="bob"), "doubt_not_found")


@check
async def a_late_owner_resolves_its_doubt(store: LedgerStore, wall: Wall) -> None:
    """By its token, either way; a second late word changes nothing."""
    late = make_intent({"order": 1})
    opened = await doubtful(store, late)
    must((await end(store, late, SUCCEEDED, result="1")).ok, "the late owner was refused")
    found = await store.doubt(opened.id)
    must(
        found is not None and (found.state, found.resolved_by) == (DoubtState.HAPPENED, "owner"), f"{found!r}"
    )
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == "1", f"{verdict!r}")
    failed = make_intent({"order": 2})
    await doubtful(store, failed)
    await end(store, failed, FAILED)
    await begin(store, make_intent({"order": 2}), Go)
    must(not await store.doubts(), "doubts are left")


@check
async def a_late_success_after_did_not_happen_is_loud(store: LedgerStore, wall: Wall) -> None:
    """Whether or not somebody has repeated it by then, a doubt of its own is opened, once, and blocks."""
    for order, repeated in ((1, False), (2, True)):
        late = make_intent({"order": order})
        opened = await doubtful(store, late)
        await store.resolve(opened.id, happened=False, by="model")
        if repeated:
            second = make_intent({"order": order})
            await begin(store, second, Go)
            await end(store, second, SUCCEEDED)
        settled = await end(store, late, SUCCEEDED)
        double = settled.doubt
        must(double is not None and double.kind is DoubtKind.DOUBLE_EFFECT, f"not loud: {settled!r}")
        if double is None:
            raise AssertionError
        await end(store, late, SUCCEEDED)
        must([each.id for each in await store.doubts()] == [double.id], "not exactly one doubt is open")
        verdict = await begin(store, make_intent({"order": order}), InDoubt)
        must(verdict.doubt.id == double.id, f"{verdict!r}")
        await store.resolve(double.id, happened=True, by="ada")
        await begin(store, make_intent({"order": order}), Replay)


@check
async def a_late_result_completes_what_a_person_said(store: LedgerStore, wall: Wall) -> None:
    """Said to have happened, without a result: the owner's own is kept; a given one is not overwritten."""
    late = make_intent({"order": 1})
    opened = await doubtful(store, late)
    await store.resolve(opened.id, happened=True, by="ada")
    must((await end(store, late, SUCCEEDED, result="7")).ok, "the late owner was refused")
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == "7", f"{verdict!r}")
    await end(store, late, SUCCEEDED, result="8")
    verdict = await begin(store, make_intent({"order": 1}), Replay)
    must(verdict.record.result == "7", "a result was overwritten")


@check
async def a_lapsed_lease_becomes_a_doubt(store: LedgerStore, wall: Wall) -> None:
    """On the next identical call in any run, and by `recover`; the late owner still settles it."""
    gone = make_intent({"order": 1})
    await begin(store, gone)
    wall.advance(59)
    await begin(store, make_intent({"order": 1}), Running)
    wall.advance(2)
    verdict = await store.look(make_intent({"order": 1}, run_id="run_2"))
    must(isinstance(verdict, InDoubt), f"wanted InDoubt, got {verdict!r}")
    must(not await store.recover(), "recovered twice")
    other = make_intent({"order": 2}, scope="other")
    await begin(store, other)
    wall.advance(61)
    must(not await store.recover("default"), "another scope was recovered")
    must([each.scope for each in await store.recover("other")] == ["other"], "not recovered")
    must((await end(store, gone, SUCCEEDED)).ok, "the late owner was refused")


@check
async def an_abandoned_body_is_met_by_other_runs(store: LedgerStore, wall: Wall) -> None:
    """Running and not in doubt, named by the id that its doubt would have, not resolvable; in doubt once it ends so."""
    zombie = make_intent({"order": 1})
    await begin(store, zombie)
    await begin(store, make_intent({"order": 1}, run_id="run_2", owner_token="a"), Go)  # noqa: S106
    await store.renew(zombie.key, zombie.owner_token, 3600, abandoned=True)
    await begin(store, make_intent({"order": 1}, run_id="run_3"), Running)
    settled = await end(store, make_intent({"order": 1}, run_id="run_2", owner_token="a"), FAILED)  # noqa: S106
    must(settled.ok and not await store.doubts(), "a running body was in doubt")
    opened = (await end(store, zombie, IN_DOUBT)).doubt
    must(opened is not None and opened.is_open, f"{opened!r}")


@check
async def a_running_body_cannot_be_resolved(store: LedgerStore, wall: Wall) -> None:
    """Nobody can know yet."""
    zombie = make_intent({"order": 1})
    await begin(store, zombie)
    doubt_id = doubt_id_of(zombie.owner_token)
    must(await store.doubt(doubt_id) is None, "a doubt before the caller was answered")
    await store.renew(zombie.key, zombie.owner_token, 60, abandoned=True)
    found = await store.doubt(doubt_id)
    must(found is not None and found.state is DoubtState.RUNNING, f"{found!r}")
    await refused(store.resolve(doubt_id, happened=False, by="model"), "still_running")


@check
async def a_near_identical_call_is_told_once(store: LedgerStore, wall: Wall) -> None:
    """Changed free text only: told once for each run, then it may run; the identical one stays blocked."""
    first = {"to": "bob", "text": "See you at nine"}
    other = {"to": "bob", "text": "See you tomorrow at nine"}
    opened = await doubtful(store, make_intent(first))
    for run_id in ("run_1", "run_2"):
        verdict = await store.look(make_intent(other, run_id=run_id))
        must(isinstance(verdict, NearDoubt) and verdict.doubt.id == opened.id, f"not told: {verdict!r}")
        await begin(store, make_intent(other, run_id=run_id), Go)
    await begin(store, make_intent(first), InDoubt)
    await begin(store, make_intent({"to": "ann", "text": "See you at nine"}), Go)
    await store.resolve(opened.id, happened=False, by="ada")
    await begin(store, make_intent({"to": "bob", "text": "Another text again"}, run_id="run_3"), Go)


@check
async def doubts_are_listed_by_scope_and_run(store: LedgerStore, wall: Wall) -> None:
    """Oldest first, open ones unless asked for all."""
    made = []
    for number, (scope, run_id) in enumerate((("a", "run_1"), ("a", "run_2"), ("b", "run_1"))):
        wall.advance(1)
        made.append(await doubtful(store, make_intent({"order": number}, scope=scope, run_id=run_id)))
    must([each.id for each in await store.doubts()] == [each.id for each in made], "not oldest first")
    must([each.id for each in await store.doubts("a")] == [made[0].id, made[1].id], "scope a")
    must([each.id for each in await store.doubts("a", "run_2")] == [made[1].id], "run 2")
    await store.resolve(made[0].id, happened=True, by="ada")
    must(len(await store.doubts("a")) == 1, "a resolved doubt is listed")
    must(len(await store.doubts("a", open_only=False)) == 2, "a resolved doubt is forgotten")
