"""What every fleet store must do, as checks that any test runner can call.

    @pytest.mark.parametrize("check", FLEET_CHECKS.values(), ids=FLEET_CHECKS)
    async def test_fleet(check):
        store = MyFleet()
        await check(store)
        await store.aclose()

Each check needs a fleet that nobody else uses. Waits are real and below half a second: time is the store's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from failsoft.stores.fleet.port import Wish

if TYPE_CHECKING:
    from failsoft.stores.fleet.port import FleetStore, SharedBreaker

__all__ = ["FLEET_CHECKS", "FleetCheck"]

FleetCheck = Callable[["FleetStore"], Awaitable[None]]
FLEET_CHECKS: dict[str, FleetCheck] = {}

_A = Wish(member="pay", owner="a", span_s=30.0, opened=1, reason="hard_failures")
_B = replace(_A, owner="b")
_NOW_A, _NOW_B = replace(_A, span_s=0.0), replace(_B, span_s=0.0)


def check(fn: FleetCheck) -> FleetCheck:
    FLEET_CHECKS[fn.__name__] = fn
    return fn


def must(condition: object, what: object) -> None:
    if not condition:
        raise AssertionError(f"{what!r}")


@check
async def the_first_opening_wins(store: FleetStore) -> None:
    """A second opening is told of the first, and starts no timer of its own."""
    first = await store.open(_A)
    must(first.granted and first.state == "open" and 29 < first.left_s <= 30, first)
    second = await store.open(replace(_B, span_s=300.0, opened=7))
    must(not second.granted and second.left_s <= first.left_s, second)
    must((second.generation, second.opened, second.owner) == (first.generation, 1, "a"), second)


@check
async def no_probe_while_open(store: FleetStore) -> None:
    """The lease is not given before the opening is over."""
    await store.open(_A)
    refused = await store.lease(_A)
    must(not refused.granted and refused.state == "open" and refused.left_s > 29, refused)


@check
async def one_probe_for_all(store: FleetStore) -> None:
    """Of many who ask at the same moment one gets the lease; the others are told how long it runs."""
    await store.open(_NOW_A)
    answers = await asyncio.gather(*(store.lease(replace(_A, owner=str(i), span_s=5.0)) for i in range(16)))
    must(sum(answer.granted for answer in answers) == 1, answers)
    must(all(answer.state == "half_open" and 4 < answer.left_s <= 5 for answer in answers), answers)


@check
async def a_lost_probe_gives_way(store: FleetStore) -> None:
    """A lease that is over is taken by the next one, and its first holder changes nothing any more."""
    await store.open(_NOW_A)
    await store.lease(replace(_A, span_s=0.1))
    must(not (await store.lease(_B)).granted, "the lease runs")
    await asyncio.sleep(0.15)
    must((await store.lease(_B)).granted, "the lease is over")
    for late in (await store.close(_A), await store.open(_A), await store.give_back(_A)):
        must(not late.granted and late.state == "half_open" and late.owner == "b", late)


@check
async def a_probe_closes(store: FleetStore) -> None:
    """The holder closes; whoever still thinks that it is open is told so instead of probing."""
    opened = await store.open(_NOW_A)
    await store.lease(_A)
    closed = await store.close(_A)
    must(closed.granted and closed.state == "closed" and closed.opened == 0, closed)
    told = await store.lease(replace(_B, seen=opened.generation))
    must(not told.granted and told.state == "closed" and told.generation == closed.generation, told)


@check
async def a_failed_probe_opens_longer(store: FleetStore) -> None:
    """The holder opens again, for as long and as often in a row as it says."""
    await store.open(_NOW_A)
    lease = await store.lease(_A)
    again = await store.open(replace(_A, seen=lease.generation, opened=2, span_s=60.0, reason="probe_failed"))
    must(again.granted and again.opened == 2 and again.left_s > 59 and again.reason == "probe_failed", again)


@check
async def a_probe_without_outcome_is_given_back(store: FleetStore) -> None:
    """After it the next one may probe at once, and nothing else has changed."""
    await store.open(replace(_NOW_A, opened=3))
    await store.lease(_A)
    back = await store.give_back(_A)
    must(back.granted and back.state == "open" and back.left_s == 0 and back.opened == 3, back)
    must((await store.lease(_B)).granted, "the next one may probe")


@check
async def old_news_change_nothing(store: FleetStore) -> None:
    """Who decided before the last closing neither opens nor closes; who knows of it does."""
    first = await store.open(_NOW_A)
    await store.lease(_A)
    closed = await store.close(_A)
    stale = await store.open(replace(_B, seen=first.generation))
    must(not stale.granted and stale.state == "closed", stale)
    fresh = await store.open(replace(_B, seen=closed.generation))
    must(fresh.granted, fresh)
    must(
        not (await store.close(replace(_A, seen=closed.generation))).granted, "closing goes by the generation"
    )
    must((await store.close(replace(_A, seen=fresh.generation))).granted, "nothing happened since")


@check
async def a_store_that_forgot_begins_anew(store: FleetStore) -> None:
    """Where the store knows nothing, a lease is given: a lost store is not a closed breaker."""
    lease = await store.lease(replace(_A, seen=17))
    must(lease.granted and lease.state == "half_open" and lease.generation > 17, lease)
    must(not (await store.lease(_B)).granted, "to one")
    closed = await store.close(replace(_A, member="other", seen=17))
    must(closed.granted and closed.state == "closed", "what a probe has found out is kept")


@check
async def changes_are_told(store: FleetStore) -> None:
    """Changes come by message as they happen, and are read again by generation."""
    heard: list[SharedBreaker] = []
    listener = asyncio.ensure_future(store.listen(heard.append))
    await asyncio.sleep(0.1)
    first = await store.open(_A)
    second = await store.open(replace(_B, member="lookup weather/Zürich"))
    for _ in range(200):
        if len(heard) < 2:
            await asyncio.sleep(0.01)
    listener.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await listener
    must([each.member for each in heard] == ["pay", "lookup weather/Zürich"], heard)
    must([each.generation for each in heard] == [first.generation, second.generation], heard)
    must(
        [each.member for each in await store.changes(first.generation)] == [second.member], "since the first"
    )
    must({each.member for each in await store.changes(0)} == {first.member, second.member}, "all")


@check
async def a_rate_is_one_for_all(store: FleetStore) -> None:
    """Turns are taken in blocks, never more than there are; then one at a time, each with its wait."""
    rate = {"calls": 10, "per_s": 1000.0, "burst": 10}
    blocks = [await store.take("r", **rate, turns=4, max_wait_s=0) for _ in range(3)]  # type: ignore[arg-type]
    must([block.turns for block in blocks] == [4, 4, 2], blocks)
    refused = await store.take("r", **rate, turns=4, max_wait_s=50)  # type: ignore[arg-type]
    must(refused.turns == 0 and 99 < refused.wait_s <= 100, refused)
    first = await store.take("r", **rate, turns=4, max_wait_s=1e9)  # type: ignore[arg-type]
    second = await store.take("r", **rate, turns=4, max_wait_s=float("inf"))  # type: ignore[arg-type]
    must(first.turns == second.turns == 1 and 99.9 < second.wait_s - first.wait_s < 100.1, (first, second))
    must((await store.take("other", **rate, turns=1, max_wait_s=0)).turns == 1, "another rate")  # type: ignore[arg-type]


@check
async def a_rate_comes_back_exactly(store: FleetStore) -> None:
    """Turns come back one interval at a time, thirds of a second too."""
    rate = {"calls": 30, "per_s": 1.0, "burst": 1}
    took = [await store.take("r", **rate, turns=9, max_wait_s=9) for _ in range(7)]  # type: ignore[arg-type]
    must(took[0].wait_s == 0 and all(block.turns == 1 for block in took), took)
    must(0.15 < took[-1].wait_s <= 0.2, took)
    await asyncio.sleep(took[-1].wait_s + 0.04)
    must((await store.take("r", **rate, turns=9, max_wait_s=0)).turns == 1, "its time has come")  # type: ignore[arg-type]
