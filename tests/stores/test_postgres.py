"""PostgreSQL keeps the same suite, across connections, restarts and many processes."""

import asyncio
import signal
import subprocess
import sys

import pytest

from failsoft.core.errors import AgentError
from failsoft.core.events import Event, EventName
from failsoft.ledger.decide import Go, InDoubt, Replay
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.stores.journal import Journal
from failsoft.testing.store_suite import STORE_CHECKS, StoreCheck, Wall, make_intent

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.server

SUCCEEDED = Settlement(state=ClaimState.SUCCEEDED, result="1")


@pytest.fixture
def url(postgres_server) -> str:
    """An empty store's URL."""
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS failsoft CASCADE")
    return postgres_server.url


@pytest.mark.parametrize("check", STORE_CHECKS.values(), ids=STORE_CHECKS)
async def test_postgres_keeps_the_suite(check: StoreCheck, url: str) -> None:
    """Every check of the public suite holds for this store."""
    from failsoft.stores.postgres import PostgresStore

    wall = Wall()
    store = PostgresStore(url, wall=wall)
    await check(store, wall)
    await store.close()


async def test_many_connections_claim_each_key_once(url: str) -> None:
    """Eight stores, the same forty keys at the same time."""
    stores = [open_store(url) for _ in range(8)]

    async def claim_all(store) -> int:
        verdicts = await asyncio.gather(*(store.begin(make_intent({"order": n})) for n in range(40)))
        return sum(isinstance(verdict, Go) for verdict in verdicts)

    assert sum(await asyncio.gather(*map(claim_all, stores))) == 40
    for store in stores:
        await store.close()


async def test_two_may_be_the_first(url: str) -> None:
    """A worker that starts while another one makes the schema waits for its turn, and finds it."""
    from failsoft.stores.postgres import _LOCK

    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(url) as other, psycopg.connect(url, autocommit=True) as watch:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        other.execute("CREATE SCHEMA failsoft")
        store = open_store(url)
        begun = asyncio.ensure_future(store.begin(make_intent({"order": 1})))
        async with asyncio.timeout(10):
            while watch.execute(waits).fetchone() == (0,):
                await asyncio.sleep(0.01)
        other.commit()
        assert isinstance(await begun, Go)
    await store.close()


async def test_leases_go_by_the_servers_clock(url: str) -> None:
    """What this machine believes the time to be changes nothing."""
    store = open_store(url)
    with psycopg.connect(url) as db:
        at = float(db.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()[0])
    await store.begin(make_intent({"order": 1}))
    opened = await store.settle(*_doubt_of(make_intent({"order": 2})))
    assert opened.ok is False
    verdict = await store.begin(make_intent({"order": 1}))
    assert at + 50 < verdict.record.lease_until < at + 70
    assert abs(store.now() - at) < 5
    await store.close()


def _doubt_of(intent):
    return intent.key, intent.owner_token, Settlement(state=ClaimState.IN_DOUBT)


@pytest.mark.slow
async def test_a_restart_of_the_server_loses_nothing(url: str, postgres_server) -> None:
    """Meanwhile claims are refused and settlements are kept; afterwards all of it is there."""
    store = open_store(url)
    told = []
    store.on_trouble = told.append
    first, second = make_intent({"order": 1}), make_intent({"order": 2})
    await store.begin(first)
    await store.begin(second)
    postgres_server.stop(signal.SIGQUIT)
    try:
        assert (await store.settle(first.key, first.owner_token, SUCCEEDED)).pending
        with pytest.raises(AgentError) as caught:
            await store.begin(make_intent({"order": 3}))
        assert (caught.value.reason, caught.value.effect) == ("ledger_unavailable", "none")
    finally:
        postgres_server.start()
    for _ in range(50):
        try:
            verdict = await store.look(make_intent({"order": 1}))
        except AgentError:
            await asyncio.sleep(0.1)
        else:
            break
    assert isinstance(verdict, Replay)
    assert (await store.settle(second.key, second.owner_token, SUCCEEDED)).ok
    assert isinstance(await store.begin(make_intent({"order": 3})), Go)
    assert [trouble.what for trouble in told] == ["settlement_pending"]
    await store.close()


async def test_an_idle_connection_that_died_is_replaced_unnoticed(url: str) -> None:
    """A server that was restarted while nobody called costs no call."""
    store = open_store(url)
    await store.begin(make_intent({"order": 1}))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'failsoft' AND pid <> pg_backend_pid()"
        )
    assert isinstance(await store.begin(make_intent({"order": 2})), Go)
    await store.close()


@pytest.mark.slow
@pytest.mark.process
async def test_a_killed_process_leaves_a_doubt(url: str, tmp_path) -> None:
    """Its claim is met at once by the next one, and listed."""
    from tests.stores.test_processes import start
    from tests.stores.worker import intent_of

    worker = start(url, tmp_path / "effects", 1, 0, "effect", 0)
    assert worker.wait(15) == -signal.SIGKILL
    store = open_store(url)
    assert isinstance(await store.begin(intent_of(0)), InDoubt)
    assert len(await store.doubts()) == 1
    await store.close()


async def test_the_journal_is_kept(url: str) -> None:
    """Events in; a run and its calls out; texts that the server cannot keep are changed, not lost."""
    store = open_store(url)
    journal = Journal(store)
    journal.write(
        Event(name=EventName.CALL_FAILED, at=1.0, tool="a\x00b", call_id="c", run_id="r", data={"k": "\x00"})
    )
    await journal.flush()
    assert [run.id for run in await journal.runs()] == ["r"]
    assert [call.tool for call in await journal.calls("r")] == ["a\u2400b"]
    assert len(await journal.events()) == 1
    assert [counts.failed for counts in await journal.counts()] == [1]
    await store.close()


def test_the_module_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg the hint names the extra."""
    from failsoft.core.errors import UsageError

    monkeypatch.delitem(sys.modules, "failsoft.stores.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"failsoft\[postgres\]"):
        open_store("postgresql://x")


def test_the_password_is_not_shown() -> None:
    """Neither by `repr`, nor by anything in it."""
    assert "secret" not in repr(open_store("postgresql://ada:secret@host/db"))


FORKED = """
import asyncio, os, sys
from failsoft.stores import open_store
from failsoft.testing.store_suite import make_intent

store = open_store(sys.argv[1])

async def claim(order: int) -> str:
    return type(await store.begin(make_intent({"order": order}))).__name__

print(asyncio.run(claim(1)), flush=True)
pid = os.fork()
if pid == 0:
    print(asyncio.run(claim(2)), flush=True)
    asyncio.run(store.close())
    sys.exit()  # in order: whatever was inherited is let go of
assert os.waitpid(pid, 0)[1] == 0
print(asyncio.run(claim(2)), asyncio.run(claim(3)), flush=True)
asyncio.run(store.close())
"""


@pytest.mark.process
def test_a_fork_shares_no_connection(url: str) -> None:
    """Parent and child each have their own, and the child's end is not the parent's."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, url], capture_output=True, text=True, check=False, timeout=15
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["Go", "Go", "InDoubt", "Go"]  # a process that ended without a word
