"""The ledger's file under unkind hands: forked, deleted, replaced, moved, and opened twice in one process."""

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from failsoft import Harness, tool
from failsoft.core.errors import AgentError
from failsoft.ledger.decide import Go, Replay, Running
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.stores.sqlite import SQLiteStore
from failsoft.stores.sqlite_file import FileWatch, network_of
from failsoft.testing.store_suite import make_intent

SUCCEEDED = Settlement(state=ClaimState.SUCCEEDED, result='"done"')

PASSER_BY = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT count(*) FROM claims").fetchone()
db.close()
"""

FORKED = """
import asyncio, os, sys
from failsoft.stores.sqlite import SQLiteStore
from failsoft.testing.store_suite import make_intent

path, is_shared = sys.argv[1], sys.argv[2] == "shared"
store = SQLiteStore(path)
asyncio.run(store.begin(make_intent({"order": 0})))
reader, writer = os.pipe()
ready, told = os.pipe()

async def child() -> None:
    own = store if is_shared else SQLiteStore(path)
    first = await own.begin(make_intent({"order": 1}))
    os.write(told, b"1")
    os.read(reader, 1)
    second = await own.begin(make_intent({"order": 2}))
    print(type(first).__name__, type(second).__name__, flush=True)
    os.write(told, b"2")
    os.read(reader, 1)
    os._exit(0)  # as if killed: nothing is closed

pid = os.fork()
if pid == 0:
    asyncio.run(child())
os.read(ready, 1)
asyncio.run(store.close())
os.write(writer, b"x")
os.read(ready, 1)

async def other() -> None:
    late = SQLiteStore(path)
    for order in (0, 1, 2):
        print(type(await late.begin(make_intent({"order": order}))).__name__, flush=True)
    await late.close()

asyncio.run(other())
os.write(writer, b"x")
os.waitpid(pid, 0)
"""

RUN_IDS = """
import asyncio, os, sys
from failsoft import Harness, tool

log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

@tool(read_only=False)
async def send(to: str) -> str:
    os.write(log, f"{to}\\n".encode())
    return "sent"

harness = Harness([send], store=f"sqlite:///{sys.argv[2]}")

async def work() -> None:
    async with harness.run() as run:
        result = await run.call("send", {"to": "ada"})
        print(result.ok, result.replayed, flush=True)
    await harness.aclose()

asyncio.run(harness.call("send", {"to": "first"}))
pids = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        asyncio.run(work())
        os._exit(0)
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
asyncio.run(work())
"""


def run_script(code: str, *arguments: object) -> list[str]:
    """What a program of its own prints; it may fork as it likes."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=15)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


async def pass_by(path: Path) -> None:
    """Another process opens the file, reads, and leaves."""
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", PASSER_BY, str(path)], check=True)


async def refusal(store: SQLiteStore, order: int) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await store.begin(make_intent({"order": order}))
    return caught.value


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("whose", ["own", "shared"])
def test_what_a_forked_child_claims_is_not_forgotten(tmp_path: Path, whose: str) -> None:
    """Not even where the parent leaves first: the child holds locks of its own."""
    said = run_script(FORKED, tmp_path / "failsoft.db", whose)
    assert sorted(said) == sorted(["Go", "Go", "Running", "Running", "Running"])


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_workers_do_not_share_run_ids(tmp_path: Path) -> None:
    """A harness made and used before the fork works in each child, and nobody gets another one's results."""
    said = run_script(RUN_IDS, tmp_path / "log", tmp_path / "failsoft.db")
    assert said == ["True", "False"] * 3
    assert (tmp_path / "log").read_text().split() == ["first", "ada", "ada", "ada"]


@pytest.mark.slow
@pytest.mark.process
async def test_one_of_two_stores_of_a_process_closes(tmp_path: Path) -> None:
    """The other one keeps its locks: somebody who passes by does not take its WAL file along."""
    path = tmp_path / "failsoft.db"
    first, second = SQLiteStore(path), SQLiteStore(path)
    for order, store in enumerate((first, second, first)):
        await store.look(make_intent({"order": order}))
        await store.begin(make_intent({"order": order}))
    await second.close()
    await pass_by(path)
    assert isinstance(await first.begin(make_intent({"order": 3})), Go)
    other = SQLiteStore(path)
    for order in range(4):
        assert isinstance(await other.begin(make_intent({"order": order})), Running)
    await other.close()
    await first.close()


@pytest.mark.parametrize("what", ["failsoft.db", "failsoft.db-wal", "failsoft.db-shm", "."])
async def test_a_ledger_that_was_deleted_takes_no_more_claims(tmp_path: Path, what: str) -> None:
    """Not into a file that nobody will find again, and not into a new one that knows nothing."""
    folder = tmp_path / "home"
    store = SQLiteStore(folder / "failsoft.db")
    await store.begin(make_intent({"order": 0}))
    if what == ".":
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    else:
        (folder / what).unlink()
    error = await refusal(store, 1)
    assert (error.kind, error.reason, error.effect) == ("unavailable", "ledger_unavailable", "none")
    assert "deleted, moved or replaced" in error.context["store"]
    assert not folder.exists() or what != "failsoft.db" or not (folder / what).exists()
    await store.close()


@pytest.mark.parametrize("what", ["real/ledger.db", "real/ledger.db-wal", "failsoft.db"])
async def test_a_ledger_behind_a_link_is_watched_where_it_is(tmp_path: Path, what: str) -> None:
    """The file that the link leads to, and the link itself, within a second."""
    (tmp_path / "real").mkdir()
    (tmp_path / "failsoft.db").symlink_to(tmp_path / "real" / "ledger.db")
    (tmp_path / "real" / "ledger.db").touch(mode=0o600)
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent({"order": 0}))
    assert (tmp_path / "real" / "ledger.db-wal").exists()
    (tmp_path / what).unlink()
    store._watch._look_at = 0.0  # a second later
    assert "deleted, moved or replaced" in (await refusal(store, 1)).context["store"]
    await store.close()


async def test_a_ledger_that_was_replaced_is_noticed_and_its_heir_left_alone(tmp_path: Path) -> None:
    """Closing the old one deletes nothing of the new one, which others write to."""
    path = tmp_path / "failsoft.db"
    store = SQLiteStore(path)
    await store.begin(make_intent({"order": 0}))
    for file in list(tmp_path.iterdir()):
        file.rename(tmp_path / f"old-{file.name}")
    heir = SQLiteStore(path)
    await heir.begin(make_intent({"order": 1}))
    assert "replaced" in (await refusal(store, 2)).context["store"]
    await store.close()
    assert isinstance(await heir.begin(make_intent({"order": 3})), Go)
    third = SQLiteStore(path)
    for order in (1, 3):
        assert isinstance(await third.begin(make_intent({"order": order})), Running)
    await third.close()
    await heir.close()


async def test_a_ledger_that_was_put_back_goes_on(tmp_path: Path) -> None:
    """What was kept meanwhile is written then; a store that was closed takes whatever file is there."""
    path = tmp_path / "failsoft.db"
    store, told = SQLiteStore(path), []
    store.on_trouble = told.append
    intent = make_intent({"order": 0})
    await store.begin(intent)
    path.rename(tmp_path / "elsewhere.db")
    assert (await store.settle(intent.key, intent.owner_token, SUCCEEDED)).pending
    (tmp_path / "elsewhere.db").rename(path)
    assert isinstance(await store.begin(make_intent({"order": 1})), Go)
    assert isinstance(await store.look(make_intent({"order": 0})), Replay)
    assert [trouble.what for trouble in told] == ["settlement_pending"]
    await store.close()
    path.unlink()
    assert isinstance(await store.begin(make_intent({"order": 0})), Go)
    await store.close()


async def test_a_deleted_ledger_is_told_through_a_harness(tmp_path: Path) -> None:
    """The effect does not happen, and the model reads that nothing was done."""
    sent = []

    @tool(read_only=False, retry=None)
    async def send(to: str) -> str:
        sent.append(to)
        return "sent"

    async with Harness([send], store=f"sqlite:///{tmp_path}/failsoft.db") as harness:
        assert (await harness.call("send", {"to": "ada"}, run="r")).ok
        for file in list(tmp_path.iterdir()):
            file.unlink()
        result = await harness.call("send", {"to": "eve"}, run="r")
    assert sent == ["ada"]
    assert (result.error.kind, result.error.effect) == ("unavailable", "none")
    assert "nothing was done" in result.content.lower()


async def test_the_wal_file_is_written_back_in_the_writers_turn_only(tmp_path: Path) -> None:
    """It stays short, and no checkpoint ever meets another connection's commit."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent({"order": -1}))
    connection, outside = store._writer._connection, []
    plain = connection._checkpoint

    def checkpoint() -> None:
        outside.append(not connection._db.in_transaction)
        plain()

    connection._checkpoint = checkpoint
    other = SQLiteStore(tmp_path / "failsoft.db")
    for order in range(150):
        intent = make_intent({"order": order})
        for each in (store, other):
            await each.begin(intent)
        await store.settle(intent.key, intent.owner_token, SUCCEEDED)
    assert len(outside) >= 3
    assert not any(outside)
    assert (tmp_path / "failsoft.db-wal").stat().st_size < 3_500_000
    for db in (connection._db, connection._second, other._writer._connection._db):
        assert db.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    await other.close()
    await store.close()
    assert [file.name for file in tmp_path.iterdir()] == ["failsoft.db"]


async def test_whoever_is_never_the_last_writes_a_long_wal_file_back(tmp_path: Path) -> None:
    """Programs that come and go beside one that stays do not let the file grow for ever."""
    path = tmp_path / "failsoft.db"
    stays = SQLiteStore(path)
    await stays.begin(make_intent({"order": -1}))
    most = 0
    for number in range(8):
        visitor = SQLiteStore(path)
        intent = make_intent({"order": number})
        await visitor.begin(intent)
        long = Settlement(state=ClaimState.SUCCEEDED, result="x" * 2_000_000)
        await visitor.settle(intent.key, intent.owner_token, long)
        await visitor.close()
        most = max(most, (tmp_path / "failsoft.db-wal").stat().st_size)
    assert most < 9_000_000
    await stays.close()


async def test_a_checkpoint_that_fails_costs_nothing(tmp_path: Path) -> None:
    """The claim is durable without it."""
    store = SQLiteStore(tmp_path / "failsoft.db")
    await store.begin(make_intent({"order": 0}))
    connection = store._writer._connection
    connection._pages = 10_000
    connection._second = sqlite3.connect(":memory:")
    connection._second.close()
    assert isinstance(await store.begin(make_intent({"order": 1})), Go)
    await store.close()


def test_a_network_file_system_is_told_apart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By the system's table of mounts, and it is said once, when the file is first opened."""
    device = os.stat(tmp_path).st_dev
    table = tmp_path / "mountinfo"
    line = "36 35 {}:{} / /mnt rw,noatime shared:1 - {} server:/export rw\n"
    for kind, found in (("nfs4", "nfs4"), ("cifs", "cifs"), ("fuse.sshfs", "fuse.sshfs"), ("ext4", None)):
        table.write_text("a line of another kind\n" + line.format(os.major(device), os.minor(device), kind))
        assert network_of(tmp_path, str(table)) == found
    assert network_of(tmp_path, str(tmp_path / "none")) is None
    assert network_of(tmp_path / "none") is None


def test_a_network_file_system_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the word for what to use in its place."""
    monkeypatch.setattr("failsoft.stores.sqlite_file.network_of", lambda _: "nfs4")
    watch = FileWatch(tmp_path / "failsoft.db")
    (tmp_path / "failsoft.db").touch()
    with caplog.at_level(logging.WARNING, "failsoft"):
        watch.note()
        watch.note()
    (record,) = caplog.records
    assert "postgresql://" in record.getMessage()


async def test_a_store_made_before_a_fork_and_not_used_needs_nothing(tmp_path: Path) -> None:
    """As with a web server that loads the program once and forks its workers."""
    store = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    for part in (store._writer, store._reader):
        part.before_fork()
        part.after_fork(is_child=True)
    assert isinstance(await store.begin(make_intent({"order": 1})), Go)
    await store.close()
