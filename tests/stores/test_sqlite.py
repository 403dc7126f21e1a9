"""SQLite's own promises: modes, trouble with the disk, threads and loops, upgrades."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import pytest

from failsoft.core.errors import AgentError, UsageError
from failsoft.ledger.decide import Go, Replay, Running
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.stores.schema import SCHEMA_VERSION, STEPS, migrate
from failsoft.stores.sqlite import SQLiteStore
from failsoft.stores.sqlite_connection import TYPES
from failsoft.testing.store_suite import make_intent

SUCCEEDED = Settlement(state=ClaimState.SUCCEEDED, result="1")


async def refusal(store: SQLiteStore) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await store.begin(make_intent({"order": 99}))
    error = caught.value
    assert (error.kind, error.reason, error.effect) == ("unavailable", "ledger_unavailable", "none")
    assert error.__cause__ is not None
    return error


async def test_files_are_private(tmp_path: Path) -> None:
    """The file has mode 0600 and a directory that is made has 0700, whatever the umask."""
    store = SQLiteStore(tmp_path / "made" / "failsoft.db")
    await store.begin(make_intent())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    await store.close()


async def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    """Opening, and looking for what is not there, leaves no file behind."""
    store = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    await store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///", "mysql://x", "Memory", "/tmp/x.db"])
def test_other_urls_are_refused(url: str) -> None:
    """With the forms that work."""
    with pytest.raises(UsageError, match="sqlite:///FILE"):
        open_store(url)


async def test_a_place_that_cannot_be_written_stops_the_effect(tmp_path: Path) -> None:
    """Neither a directory in the way, nor a file that is no database, lets a call run."""
    (tmp_path / "file").write_text("no database, but long enough to be read as the header of one" * 50)
    for path in (tmp_path / "file" / "x.db", tmp_path, tmp_path / "file"):
        store = SQLiteStore(path)
        await refusal(store)
        await store.close()


async def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    """What a newer release wrote is not guessed at."""
    path = tmp_path / "failsoft.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE failsoft_schema (version INTEGER NOT NULL)")
    db.execute("INSERT INTO failsoft_schema VALUES (999)")
    db.commit()
    db.close()
    store = SQLiteStore(path)
    assert "upgrade failsoft" in str((await refusal(store)).__cause__)
    await store.close()


@pytest.mark.parametrize("version", range(SCHEMA_VERSION))
def test_every_released_schema_is_brought_forward(version: int) -> None:
    """From each version to the present one, once."""
    db = sqlite3.connect(":memory:")
    migrate(db, TYPES, upto=version)
    assert migrate(db, TYPES) == version
    assert migrate(db, TYPES) == SCHEMA_VERSION == len(STEPS)
    db.close()


async def test_a_locked_file_stops_claims_and_keeps_settlements(tmp_path: Path) -> None:
    """The effect is refused; the end of one that happened is pending, reported, and written later."""
    store = SQLiteStore(tmp_path / "failsoft.db", busy_s=0.05)
    told, written = [], threading.Event()
    store.on_trouble = told.append
    first, second = make_intent({"order": 1}), make_intent({"order": 2})
    await store.begin(first)
    await store.begin(second)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await refusal(store)
    settled = await store.settle(first.key, first.owner_token, SUCCEEDED)
    assert (settled.ok, settled.pending) == (False, True)
    store.settle_soon(second.key, second.owner_token, SUCCEEDED, lambda _: written.set())
    await asyncio.sleep(0.2)
    other.execute("ROLLBACK")
    other.close()
    await asyncio.to_thread(written.wait, 5)
    for order in (1, 2):
        assert isinstance(await store.look(make_intent({"order": order})), Replay)
    assert {trouble.what for trouble in told} == {"settlement_pending"}
    await store.close()


async def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """As a locked file: no effect begins, what ended is kept until there is room, or reported as lost at close."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    told = []
    store.on_trouble = told.append
    intent = make_intent({"order": 1})
    await store.begin(intent)
    long = Settlement(state=ClaimState.SUCCEEDED, result="x" * 1_000_000)
    db = store._writer._connection._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    store._writer._connection.is_lost = lambda _: False  # keep the small disk
    settled = await store.settle(intent.key, intent.owner_token, long)
    assert settled.pending
    assert isinstance(await store.look(make_intent({"order": 1})), Running)
    db.execute("PRAGMA max_page_count = 1000000")
    await asyncio.sleep(0)
    await store.doubts()  # whatever is written next takes along what was kept
    verdict = await store.look(make_intent({"order": 1}))
    assert isinstance(verdict, Replay)
    assert len(verdict.record.result) == 1_000_000
    assert [trouble.what for trouble in told] == ["settlement_pending"]
    await store.close()


async def test_what_cannot_be_written_until_the_end_is_reported(tmp_path: Path) -> None:
    """A settlement that never got through is counted as lost; its claim lapses into a doubt."""
    store = SQLiteStore(tmp_path / "failsoft.db", busy_s=0.01)
    told = []
    store.on_trouble = told.append
    intent = make_intent({"order": 1})
    await store.begin(intent)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.settle_soon(intent.key, intent.owner_token, SUCCEEDED)
    await store.close()
    other.execute("ROLLBACK")
    other.close()
    assert told[-1].what == "settlement_lost"
    await store.close()


def test_several_threads_and_loops_share_a_store(tmp_path: Path) -> None:
    """Each key is claimed once, whoever asks from wherever, in both lanes."""
    store = SQLiteStore(tmp_path / "failsoft.db")

    async def claim_all() -> int:
        verdicts = await asyncio.gather(*(store.begin(make_intent({"order": n})) for n in range(40)))
        return sum(isinstance(verdict, Go) for verdict in verdicts)

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: asyncio.run(claim_all()), range(8)))
    assert sum(counts) == 40
    asyncio.run(store.close())


async def test_a_child_process_must_open_its_own(tmp_path: Path) -> None:
    """After a fork the connection is not shared; the message says what to do."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent())
    pid, store._writer._pid = store._writer._pid, -1
    with pytest.raises(UsageError, match="fork"):
        await store.begin(make_intent({"order": 1}))
    store._writer._pid = pid
    await store.close()


async def test_a_fault_in_one_piece_of_work_spares_the_others(tmp_path: Path) -> None:
    """Those who share its commit are written; nothing of the faulty one is."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    store._writer._may_block = False

    def faulty(tables) -> None:
        tables.put_told("doubt", "half done")
        raise ZeroDivisionError

    await store.begin(make_intent())
    outcomes = await asyncio.gather(
        store.begin(make_intent({"order": 1})),
        store._run(faulty),
        store.begin(make_intent({"order": 2})),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], Go)
    assert isinstance(outcomes[2], Go)
    assert isinstance(outcomes[1], AgentError)
    rows = await store._run(lambda tables: tables._db.execute("SELECT count(*) FROM told").fetchone()[0])
    assert rows == 0
    await store.close()


async def test_a_settlement_that_can_never_be_written_is_not_kept(tmp_path: Path) -> None:
    """It is reported as lost, its claim lapses, and nobody else's writing is held up by it."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    told = []
    store.on_trouble = told.append
    intent = make_intent({"order": 1})
    await store.begin(intent)

    def broken(tables) -> None:
        tables._db.execute("INSERT INTO told VALUES (?, ?)", ({}, 1))

    store._run_soon(broken, None)
    assert (await store.settle(intent.key, intent.owner_token, SUCCEEDED)).ok
    assert [trouble.what for trouble in told] == ["settlement_lost"]
    await store.close()


async def test_one_task_does_not_keep_the_loop_to_itself(tmp_path: Path) -> None:
    """Commits on the caller's own loop leave turns to others."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent())
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    order, until = 0, perf_counter() + 0.05
    while (
        order < 30 or perf_counter() < until
    ):  # even a quick disk uses up what one turn allows, and a slow one ends turns
        order += 1
        await store.begin(make_intent({"order": order}))
    counting.cancel()
    assert turns >= 3
    await store.close()


def test_a_slow_disk_moves_commits_to_the_thread() -> None:
    """One slow commit is forgiven, a slow disk is left alone for longer each time."""
    from failsoft.stores.pace import Pace

    pace = Pace()
    pace.note(0.008, 0.0)
    assert pace.is_quick(0.0)
    for _ in range(50):
        pace.note(0.0002, 0.0)
    for _ in range(5):
        pace.note(0.004, 0.0)
    assert not pace.is_quick(0.5)
    assert pace.is_quick(1.5)
    for _ in range(5):
        pace.note(0.004, 1.5)
    assert not pace.is_quick(3.0)


async def test_a_reader_keeps_its_lock_when_the_writer_opens(tmp_path: Path) -> None:
    """A process that leaves does not take the WAL file with it while another writes to it, so nothing is forgotten."""
    path = tmp_path / "failsoft.db"
    first = SQLiteStore(path)
    await first.begin(make_intent({"order": 0}))
    await first.close()
    store, late = SQLiteStore(path), make_intent({"order": 1})
    await store.look(late)  # opens the reader
    await store.begin(make_intent({"order": 2}))  # opens the writer beside it
    passer_by = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM claims'); db.close()"
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", passer_by, str(path)], check=True)
    assert isinstance(await store.begin(late), Go)
    other = SQLiteStore(path)
    assert isinstance(await other.begin(make_intent({"order": 1})), Running)
    await other.close()
    await store.close()


async def test_the_file_is_private_where_links_are_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some network and FAT file systems."""

    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("failsoft.stores.sqlite_file.os.link", refuse)
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent())
    await store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["failsoft.db"]
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
