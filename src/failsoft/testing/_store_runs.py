"""Checks of a store: runs of agents that go on in another process, by one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from failsoft.testing._store_kit import check, must, refused

if TYPE_CHECKING:
    from failsoft.ledger.port import LedgerStore
    from failsoft.testing._store_kit import Wall


@check
async def a_run_is_given_back_exactly(store: LedgerStore, wall: Wall) -> None:
    """The last state, whatever is in its texts; None for an unknown run."""
    runs: Any = cast("Any", store)
    must(await runs.load_run("r1") is None, "an unknown run has a state")
    for text in ("plain", "成功 😀", "zero \x00 byte", "half a pair \ud83d", "'; DROP TABLE agent_runs --"):
        state = {"v": 1, "stopped": "", "entries": [{"text": text, "n": 2**60}]}
        await runs.save_run("r1", state)
        must(await runs.load_run("r1") == state, f"{text!r} came back changed")
    await runs.save_run("r\ud83d/../2", {"v": 1})
    must(await runs.load_run("r\ud83d/../2") == {"v": 1}, "an odd id is not found again")


@check
async def one_at_a_time_works_on_a_run(store: LedgerStore, wall: Wall) -> None:
    """A second one is refused until the first gives the run back; only the holder may write."""
    runs: Any = cast("Any", store)
    must(await runs.hold_run("r1", "a", 60), "a free run was refused")
    must(await runs.hold_run("r1", "a", 60), "the holder could not keep it")
    must(not await runs.hold_run("r1", "b", 60), "two hold one run")
    must(await runs.load_run("r1") is None, "a hold is no state")
    await refused(runs.save_run("r1", {"v": 1}, holder="b"), "run_taken")
    await refused(runs.save_run("r1", {"v": 1}), "run_taken")
    await runs.save_run("r1", {"v": 2}, holder="a")
    runs.free_run_soon("r1", "b")
    must(not await runs.hold_run("r1", "b", 60), "somebody else gave it back")
    runs.free_run_soon("r1", "a")
    must(await runs.hold_run("r1", "b", 60), "it was not given back")
    must(await runs.load_run("r1") == {"v": 2}, "the state went with the hold")
    must(await runs.hold_run("r2", "b", 60), "another run was refused")


@check
async def a_hold_ends_with_its_lease(store: LedgerStore, wall: Wall) -> None:
    """Who stopped renewing has the run no more, and learns it when it writes."""
    runs: Any = cast("Any", store)
    must(await runs.hold_run("r1", "a", 60), "a free run was refused")
    wall.advance(50)
    must(await runs.hold_run("r1", "a", 60), "it could not be renewed")
    wall.advance(50)
    must(not await runs.hold_run("r1", "b", 60), "the renewal did not count")
    wall.advance(11)
    must(await runs.hold_run("r1", "b", 60), "a lease that is over still holds")
    await refused(runs.save_run("r1", {"v": 1}, holder="a"), "run_taken")
    must(not await runs.hold_run("r1", "a", 60), "the first one took it back")


@check
async def waiting_runs_are_listed_and_kept(store: LedgerStore, wall: Wall) -> None:
    """The newest first; pruning takes what ended long ago, not what waits for a person."""
    runs: Any = cast("Any", store)
    for number, stopped in enumerate(("finished", "escalated", "max_turns", "escalated")):
        await runs.save_run(f"r{number}", {"v": 1, "stopped": stopped})
        wall.advance(1)
    waiting = await runs.waiting_runs()
    must([run.id for run in waiting] == ["r3", "r1"], f"{waiting!r}")
    must(await runs.waiting_runs(1) == waiting[:1], "the limit does not hold")
    must(waiting[0].stopped == "escalated" and waiting[0].saved_at == wall.at - 1, f"{waiting[0]!r}")
    await runs.hold_run("r2", "a", 5_000)
    wall.advance(1_000)
    must(await store.prune(500) == 1, "something else went")
    left = [await runs.load_run(f"r{number}") is not None for number in range(4)]
    must(left == [False, True, True, True], f"{left!r}")
