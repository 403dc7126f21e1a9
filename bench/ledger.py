"""What a protected call's two durable writes cost, beside the raw store's own commits in the same run.

    python -m bench.ledger [--rounds 7] [--dir DIR] [--postgres URL]

Interleaved rounds; medians; ratios to the raw floor. `--dir` says on which disk. Peers that are installed run beside.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import secrets
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.ledger_peers import open_peers
from failsoft import Harness, tool
from failsoft.core.events import Event, EventName
from failsoft.ledger.decide import Go, Replay
from failsoft.ledger.key import identity_of, key_of
from failsoft.ledger.records import Intent, Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.stores.journal import Journal

if TYPE_CHECKING:
    from failsoft.ledger.port import LedgerStore

CALLS = 200
FLOOR = "raw sqlite FULL: intent + result"
RESULT = json.dumps({"charge": "ch_1", "amount": 1200, "status": "done", "note": "x" * 120})
_ROW = ("r1", "pay", "running", "token", json.dumps({"order": 17, "amount": 1200}), 0.0)


class Raw:
    """The floor: one table, one statement and one commit for the intent, the same for the result."""

    def __init__(self, path: Path, synchronous: str, checkpoint_pages: int = 1000) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute(f"PRAGMA wal_autocheckpoint = {checkpoint_pages}")
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self.db.execute(
            "CREATE TABLE calls (key TEXT PRIMARY KEY, run TEXT, tool TEXT, state TEXT, token TEXT, arguments TEXT,"
            " at REAL, result TEXT)"
        )

    def call(self) -> None:
        key = secrets.token_hex(16)
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", (key, *_ROW))
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE calls SET state = ?, result = ? WHERE key = ?", ("succeeded", RESULT, key))
        db.execute("COMMIT")


def intent_of(number: int, run: str) -> Intent:
    """A new claim each time, as the harness makes it."""
    identity = identity_of("pay", {"order": number, "amount": 1200, "text": "two pairs of shoes"})
    return Intent(
        key=key_of("default", run, "pay", identity.fingerprint),
        scope="default",
        run_id=run,
        call_id=f"call_{number}",
        tool="pay",
        fingerprint=identity.fingerprint,
        near_fingerprint=identity.near_fingerprint,
        arguments_hash=identity.arguments_hash,
        arguments='{"order": 17, "amount": 1200}',
        owner_token=secrets.token_hex(8),
        lease_s=61,
        protected=True,
    )


async def protected_call(store: LedgerStore, number: int, run: str, *, look: bool = True) -> None:
    """Everything that the ledger costs a call: identity, look, intent, settlement."""
    intent = intent_of(number, run)
    if look:
        assert isinstance(await store.look(intent), Go)
    assert isinstance(await store.begin(intent), Go)
    settled = await store.settle(
        intent.key, intent.owner_token, Settlement(state=ClaimState.SUCCEEDED, result=RESULT)
    )
    assert settled.ok


async def store_calls(store: LedgerStore, concurrency: int) -> float:
    """Seconds per call."""
    run = secrets.token_hex(4)
    numbers = iter(range(CALLS if concurrency == 1 else 8 * concurrency))
    count = 0

    async def worker() -> None:
        nonlocal count
        for number in numbers:
            await protected_call(store, number, run)
            count += 1

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return (time.perf_counter() - started) / count


def raw_calls(raw: Raw | RawPostgres) -> float:
    """Seconds per call."""
    started = time.perf_counter()
    for _ in range(CALLS):
        raw.call()
    return (time.perf_counter() - started) / CALLS


class RawPostgres:
    """The floor of a server: the same two statements and commits."""

    def __init__(self, url: str) -> None:
        import psycopg

        self.db = psycopg.connect(url, autocommit=True)
        self.db.execute("DROP TABLE IF EXISTS bench_calls")
        self.db.execute(
            "CREATE TABLE bench_calls (key TEXT PRIMARY KEY, run TEXT, tool TEXT, state TEXT, token TEXT,"
            " arguments TEXT, at FLOAT8, result TEXT)"
        )

    def call(self) -> None:
        key = secrets.token_hex(16)
        self.db.execute("INSERT INTO bench_calls VALUES (%s, %s, %s, %s, %s, %s, %s, NULL)", (key, *_ROW))
        self.db.execute(
            "UPDATE bench_calls SET state = %s, result = %s WHERE key = %s", ("succeeded", RESULT, key)
        )


def make_harness(store: LedgerStore) -> Harness:
    """A harness with one tool that hurts and one that does not."""

    @tool(read_only=False)
    async def pay(order: int, amount: int) -> str:
        return "done"

    @tool(read_only=True)
    async def price(order: int, amount: int) -> str:
        return "1200"

    return Harness([pay, price], store=store, builtins=False)


async def harness_calls(harness: Harness, tool_name: str) -> float:
    """Seconds per call through the whole path, one at a time."""
    async with harness.run(secrets.token_hex(4)) as run:
        started = time.perf_counter()
        for number in range(CALLS):
            result = await run.call(tool_name, {"order": number, "amount": 1200})
            assert result.ok
        return (time.perf_counter() - started) / CALLS


async def replays(store: LedgerStore) -> float:
    """Seconds for a look that finds a result."""
    run = secrets.token_hex(4)
    await protected_call(store, 1, run)
    intents = [intent_of(1, run) for _ in range(CALLS)]
    started = time.perf_counter()
    for intent in intents:
        assert isinstance(await store.look(intent), Replay)
    return (time.perf_counter() - started) / CALLS


async def journal_writes(journal: Journal) -> float:
    """Seconds that one event costs the call, with the journal's thread at work."""
    event = Event(
        name=EventName.CALL_FINISHED, at=time.time(), tool="pay", call_id="c", run_id="r", attempt=1
    )
    await journal.flush()
    started = time.perf_counter()
    for _ in range(2000):
        journal(event)
    return (time.perf_counter() - started) / 2000


async def measure(
    folder: Path, rounds: int, postgres: str | None, ending: contextlib.ExitStack
) -> dict[str, list[float]]:
    """Rounds of each, in turn."""
    full, normal = Raw(folder / "full.db", "FULL"), Raw(folder / "normal.db", "NORMAL")
    tuned = Raw(folder / "tuned.db", "FULL", checkpoint_pages=250)
    store, memory = open_store(f"sqlite:///{folder / 'ledger.db'}"), open_store("memory")
    journal = Journal(open_store(f"sqlite:///{folder / 'journal.db'}"))
    server = None if postgres is None else (RawPostgres(postgres), open_store(postgres))
    harness = make_harness(open_store(f"sqlite:///{folder / 'harness.db'}"))
    seconds: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        seconds.setdefault(name, []).append(value)

    peers = ending.enter_context(open_peers(folder))
    for _ in range(rounds + 1):
        note(FLOOR, raw_calls(full))
        note("raw sqlite FULL, short WAL file", raw_calls(tuned))
        note("failsoft sqlite, 1 at a time", await store_calls(store, 1))
        note("failsoft sqlite, 64 at a time", await store_calls(store, 64))
        note("failsoft sqlite, a replay", await replays(store))
        note("failsoft, a whole protected call", await harness_calls(harness, "pay"))
        note("failsoft, a whole read-only call", await harness_calls(harness, "price"))
        for name, calls in peers.items():
            note(name, calls(CALLS))
        note("raw sqlite NORMAL: intent + result", raw_calls(normal))
        note("failsoft memory, 1 at a time", await store_calls(memory, 1))
        note("failsoft journal, one event", await journal_writes(journal))
        if server is not None:
            note("raw postgres: intent + result", raw_calls(server[0]))
            note("failsoft postgres, 1 at a time", await store_calls(server[1], 1))
            note("failsoft postgres, 64 at a time", await store_calls(server[1], 64))
    await journal.close()
    await harness.aclose()
    for each in (store, memory, journal._store, *(server[1:] if server else ())):
        await each.close()
    for raw in (full, normal, tuned, *(server[:1] if server else ())):
        raw.db.close()
    return {name: values[1:] for name, values in seconds.items()}  # the first round warms up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--postgres", metavar="URL", default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder, contextlib.ExitStack() as ending:
        seconds = asyncio.run(measure(Path(folder), options.rounds, options.postgres, ending))
    rows = {}
    for name, values in seconds.items():
        ratios = [value / base for value, base in zip(values, seconds[FLOOR], strict=True)]
        rows[name] = {"us": statistics.median(values) * 1e6, "ratio": statistics.median(ratios)}
    if options.json:
        print(json.dumps({"machine": platform.platform(), "python": platform.python_version(), "rows": rows}))
        return
    for name, row in rows.items():
        print(f"{name:40} {row['us']:9.1f} µs   {row['ratio']:6.2f} x")


if __name__ == "__main__":
    main()
