"""The journal: events in; runs, calls, attempts and counts out; never in the way."""

import asyncio
import sqlite3
import time

import pytest

from failsoft.core.events import Event, EventName
from failsoft.ledger.entries import ToolCounts
from failsoft.stores import open_store
from failsoft.stores.journal import Journal


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path):
    """One store of each kind."""
    url = "memory" if request.param == "memory" else f"sqlite:///{tmp_path}/failsoft.db"
    store = open_store(url)
    yield store
    await store.close()


def event(
    name: str, at: float, *, run: str | None = "run_1", call: str = "c1", attempt: int = 1, **data
) -> Event:
    return Event(
        name=EventName(name), at=at, tool="pay", call_id=call, run_id=run, attempt=attempt, data=data
    )


STORY = [
    event("run_started", 1.0, call=None, attempt=0),
    event("attempt_failed", 2.0, kind="timeout", reason="attempt_timeout", duration_s=0.5),
    event("call_finished", 3.0, attempt=2, duration_s=1.5),
    event("call_failed", 4.0, call="c2", kind="not_found", reason="http_404", effect="none"),
    event("call_replayed", 5.0, call="c3", attempt=0),
    event("run_finished", 6.0, call=None, attempt=0, stop_reason="done"),
    event("call_failed", 7.0, run="run_2", call="c1", kind="not_found"),
]


async def test_a_run_can_be_read_back(store) -> None:
    """Its start, end, calls, failed attempts and events, in order."""
    journal = Journal(store)
    for each in STORY:
        journal(each)
    await journal.flush()
    assert [run.id for run in await journal.runs()] == ["run_2", "run_1"]
    run = await journal.run("run_1")
    assert (run.started_at, run.last_at, run.ended_at, run.state) == (1.0, 6.0, 6.0, "done")
    assert (await journal.run("run_2")).ended_at is None
    assert await journal.run("run_3") is None
    calls = await journal.calls("run_1")
    assert [(call.id, call.ok, call.kind, call.attempts) for call in calls] == [
        ("c1", True, None, 2),
        ("c2", False, "not_found", 1),
        ("c3", True, None, 0),
    ]
    assert calls[1].data["effect"] == "none"
    attempts = await journal.attempts("run_1")
    assert [(a.call_id, a.number, a.kind, a.duration_s) for a in attempts] == [("c1", 1, "timeout", 0.5)]
    assert [found for _, found in await journal.events("run_1")] == STORY[:6]
    assert await journal.counts() == [
        ToolCounts(tool="pay", calls=4, failed=2, attempts=4, kinds={"not_found": 2})
    ]
    assert [c.calls for c in await journal.counts(since=6.5)] == [1]


async def test_events_are_paged_by_their_places(store) -> None:
    """Each page goes on behind the last place, until nothing is left."""
    journal = Journal(store)
    for number in range(25):
        journal.write(event("call_finished", float(number)))
    await journal.flush()
    seen, after = [], 0
    while page := await journal.events(after=after, limit=10):
        seen += [found.at for _, found in page]
        after = page[-1][0]
    assert seen == [float(number) for number in range(25)]


async def test_odd_data_is_kept_as_text(store) -> None:
    """What is not JSON is printed; nothing that a tool says breaks the journal."""
    loop: dict = {}
    loop["loop"] = loop
    journal = Journal(store)
    for data in ({"x": object()}, {"x": "\ud800"}, {"x": loop}, {"x": {1: {2}}}):
        journal.write(event("call_failed", 1.0, **data))
    await journal.flush()
    assert journal.stats().written == 4
    assert len(await journal.calls("run_1")) == 4


async def test_writing_never_waits_and_loss_is_counted(tmp_path) -> None:
    """A store that cannot write costs events, not calls; the count says how many."""
    store = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    store._writer._may_block = False
    journal = Journal(store, every_s=0.01, most=100)
    journal.write(STORY[0])
    await journal.flush()
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.perf_counter()
    for _ in range(5000):
        journal.write(STORY[2])
    assert time.perf_counter() - started < 1.0
    assert journal.stats().lost >= 4000
    other.execute("ROLLBACK")
    other.close()
    await journal.flush()
    stats = journal.stats()
    assert (stats.waiting, stats.written + stats.lost) == (0, 5001)
    await store.close()


async def test_retention_takes_the_journal_along(store) -> None:
    """Pruning forgets old events, calls, attempts and runs."""
    journal = Journal(store)
    for each in STORY:
        journal.write(each)
    await journal.flush()
    await store.prune(60)
    assert await journal.runs() == []
    assert await journal.events() == []
    assert await journal.calls() == []


async def test_a_closed_journal_still_takes_what_comes(store) -> None:
    """Its thread ends with it, and comes back for a latecomer."""
    journal = Journal(store, every_s=0.01)
    journal.write(STORY[2])
    await journal.close()
    assert journal._thread is None or not journal._thread.is_alive()
    journal.write(STORY[3])
    await journal.close()
    assert journal.stats().written == 2


async def test_the_journal_does_not_disturb_the_ledger(store) -> None:
    """Many events beside many claims: all of both arrive."""
    from failsoft.ledger.decide import Go
    from failsoft.testing.store_suite import make_intent

    journal = Journal(store, every_s=0.001)

    async def one(order: int) -> bool:
        journal.write(event("call_finished", 1.0))
        return isinstance(await store.begin(make_intent({"order": order})), Go)

    assert all(await asyncio.gather(*(one(order) for order in range(200))))
    await journal.flush()
    assert journal.stats().written == 200
