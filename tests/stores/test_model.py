"""A model of the promise, written apart from the ledger's own rules, agrees with the stores on every step."""

import asyncio
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from failsoft.core.errors import AgentError
from failsoft.ledger.decide import Go, InDoubt, NearDoubt, Replay, Running
from failsoft.ledger.records import Settlement, doubt_id_of
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.testing.store_suite import Wall, make_intent

# A store that syncs to memory: the model is about what is kept, not about the disk.
QUICK = "/dev/shm" if os.path.isdir("/dev/shm") else None
TEXTS = ("See you at nine", "See you at ten, then")
RUNS = ("run_1", "run_2", None)
ENDS = (ClaimState.SUCCEEDED, ClaimState.FAILED, ClaimState.IN_DOUBT)


class Call:
    """One execution that was let go: what the world and its caller know of it."""

    def __init__(self, intent, until: float) -> None:
        self.intent, self.until = intent, until
        self.status = "running"
        self.abandoned = False
        self.denied = False  # somebody has said that it did not happen
        self.loud = False  # and it then said that it had
        self.judged = False  # and somebody has judged that report
        self.owns_key = True

    @property
    def doubtful(self) -> bool:
        return self.status == "in_doubt" or self.loud


class LedgerMachine(RuleBasedStateMachine):
    """Calls of two texts to one person, in three runs, with every way to end."""

    url = "memory"

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.wall = Wall()
        self.folder = tempfile.mkdtemp(dir=QUICK)
        self.store = self.make_store()
        self.calls: list[Call] = []
        self.told: set[tuple[str, str | None]] = set()

    def make_store(self):
        return open_store(self.url.format(self.folder), wall=self.wall)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.store.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    def lapse(self) -> None:
        for call in self.calls:
            if call.status == "running" and call.until <= self.wall.at:
                call.status = "in_doubt"

    def expected(self, intent) -> tuple[type, Call | None]:
        self.lapse()
        same = [c for c in self.calls if c.intent.fingerprint == intent.fingerprint]
        for call in self.calls:
            if call.status == "running" and call.owns_key and call.intent.key == intent.key:
                return Running, call
        for call in same:
            if call.status == "running" and call.abandoned:
                return Running, call
        for call in same:
            if call.doubtful:
                return InDoubt, call
        owners = [c for c in same if c.intent.key == intent.key and c.owns_key]
        if owners and owners[0].status == "succeeded" and intent.run_id is not None:
            return Replay, owners[0]
        teller = intent.run_id or f"call:{intent.fingerprint}"
        for call in self.calls:
            if call.doubtful and (self.doubt_id(call), teller) not in self.told:
                return NearDoubt, call
        return Go, None

    @staticmethod
    def doubt_id(call: Call) -> str:
        found = doubt_id_of(call.intent.owner_token)
        return found.replace("doubt_", "double_", 1) if call.loud else found

    @rule(
        text=st.sampled_from(TEXTS),
        run=st.sampled_from(RUNS),
        occurrence=st.sampled_from((1, 1, 2)),
        looks=st.booleans(),
    )
    def ask(self, text: str, run: str | None, occurrence: int, looks: bool) -> None:
        intent = make_intent({"to": "bob", "text": text}, run_id=run, occurrence=occurrence)
        wanted, _ = self.expected(intent)
        verdict = self.runner.run(self.store.look(intent) if looks else self.store.begin(intent))
        assert type(verdict) is wanted, (verdict, wanted)
        if wanted is InDoubt:
            assert verdict.doubt.id in {self.doubt_id(c) for c in self.calls if c.doubtful}
        if wanted is NearDoubt:
            self.told.add((verdict.doubt.id, run or f"call:{intent.fingerprint}"))
        if wanted is Go and not looks:
            for call in self.calls:
                if call.intent.key == intent.key:
                    call.owns_key = False
            self.calls.append(Call(intent, self.wall.at + 60))

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), state=st.sampled_from(ENDS), soon=st.booleans())
    def end(self, data: st.DataObject, state: ClaimState, soon: bool) -> None:
        call = data.draw(st.sampled_from(self.calls))
        settlement = Settlement(state=state, result='"r"')
        if soon:
            self.store.settle_soon(call.intent.key, call.intent.owner_token, settlement)
            self.runner.run(self.store.doubts())  # what is queued first is done first
        else:
            self.runner.run(self.store.settle(call.intent.key, call.intent.owner_token, settlement))
        was_denied = call.denied or (call.status == "failed" and call.owns_key)
        if call.status in ("running", "in_doubt"):
            call.denied = call.status == "in_doubt" and state is ClaimState.FAILED
            call.status = str(state)
        elif (
            was_denied
            and not call.judged
            and state is ClaimState.SUCCEEDED
            and not call.loud
            and call.status != "succeeded"
        ):
            call.loud, call.status = True, "succeeded"

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), happened=st.booleans())
    def resolve(self, data: st.DataObject, happened: bool) -> None:
        call = data.draw(st.sampled_from(self.calls))
        was_open = call.doubtful
        try:
            self.runner.run(self.store.resolve(self.doubt_id(call), happened=happened, by="ada"))
        except AgentError as error:
            refused = error.reason
        else:
            refused = None
        if refused is not None:
            assert refused in ("already_resolved", "doubt_not_found", "still_running")
            assert not was_open
            return
        if was_open:
            call.status = "succeeded" if happened else "failed"
            call.denied = call.denied or not happened
            if call.loud:
                call.loud, call.judged = False, True

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), abandoned=st.booleans())
    def renew(self, data: st.DataObject, abandoned: bool) -> None:
        call = data.draw(st.sampled_from(self.calls))
        intent = call.intent
        kept = self.runner.run(self.store.renew(intent.key, intent.owner_token, 60, abandoned=abandoned))
        assert kept == (call.status == "running")
        if kept:
            call.until, call.abandoned = self.wall.at + 60, call.abandoned or abandoned

    @rule(seconds=st.sampled_from((1, 40, 70)))
    def wait(self, seconds: int) -> None:
        self.wall.advance(seconds)

    @rule()
    def recover(self) -> None:
        lapsing = {self.doubt_id(c) for c in self.calls if c.status == "running" and c.until <= self.wall.at}
        assert {each.id for each in self.runner.run(self.store.recover())} == lapsing
        self.lapse()

    @invariant()
    def doubts_are_the_models(self) -> None:
        if not hasattr(self, "store"):
            return
        opened = {each.id for each in self.runner.run(self.store.doubts())}
        certain = {self.doubt_id(c) for c in self.calls if c.doubtful}
        lapsing = {self.doubt_id(c) for c in self.calls if c.status == "running" and c.until <= self.wall.at}
        assert certain <= opened <= certain | lapsing
        if not lapsing:
            assert opened == certain


class SQLiteMachine(LedgerMachine):
    url = "sqlite:///{0}/failsoft.db"


class PostgresMachine(LedgerMachine):
    def make_store(self):
        import psycopg

        from failsoft.stores.postgres import PostgresStore

        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("DROP SCHEMA IF EXISTS failsoft CASCADE")
        return PostgresStore(self.url, wall=self.wall)


@pytest.fixture(scope="module")
def its_url(postgres_server) -> None:
    """Hypothesis makes its machines itself; they find the server here."""
    PostgresMachine.url = postgres_server.url


TestMemory = LedgerMachine.TestCase
TestMemory.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
TestSQLite = pytest.mark.slow(SQLiteMachine.TestCase)
TestSQLite.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestPostgres = pytest.mark.server(
    pytest.mark.slow(pytest.mark.usefixtures("its_url")(PostgresMachine.TestCase))
)
TestPostgres.settings = settings(
    max_examples=12, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
