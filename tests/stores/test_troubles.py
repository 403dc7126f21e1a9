"""The operator hears of what a store could not write: in events, in the log, in `stats()`, and afterwards in the journal."""

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from failsoft import Harness, tool
from failsoft.cli.show import command as show_command
from failsoft.cli.stats import command as stats_command
from failsoft.core.events import EventName
from failsoft.stores import open_store
from failsoft.stores.sqlite import SQLiteStore


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process's transaction, for as long as the block."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


class Desk:
    """A harness over a file that is locked while its tool runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list = []
        self.store = SQLiteStore(path, busy_s=0.02)
        self.stack = contextlib.ExitStack()

        @tool(read_only=False)
        async def send(to: str) -> str:
            self.stack.enter_context(locked(self.path))
            return "sent"

        self.harness = Harness([send], store=self.store, sinks=[self.events.append])

    def told(self) -> list[tuple[str, str]]:
        return [
            (str(event.name), event.data["what"])
            for event in self.events
            if event.name in (EventName.STORE_TROUBLE, EventName.STORE_RECOVERED)
        ]

    async def until(self, what: str) -> None:
        end = time.monotonic() + 10
        while what not in [told for _, told in self.told()]:
            assert time.monotonic() < end, self.told()
            await asyncio.sleep(0.01)


async def test_a_settlement_that_waits_is_told_and_its_end_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As events with the engine's words, as counts, and to whoever reads the journal later."""
    desk = Desk(tmp_path / "failsoft.db")
    with caplog.at_level(logging.INFO, "failsoft"):
        async with desk.harness.run("task") as run:
            assert (await run.call("send", {"to": "ada"})).ok
        await desk.until("settlement_pending")
        assert desk.harness.stats().store.pending == 1
        desk.stack.close()
        await desk.until("settlement_written")
        assert desk.harness.stats().store.pending == 0
        await desk.harness.aclose()
    assert ("store_trouble", "settlement_pending") in desk.told()
    assert ("store_recovered", "settlement_written") in desk.told()
    (trouble,) = [event for event in desk.events if event.data.get("what") == "settlement_pending"]
    assert "locked" in trouble.data["error"]
    assert any("settlement_pending" in record.getMessage() for record in caplog.records)
    url = f"sqlite:///{tmp_path}/failsoft.db"
    shown = await asyncio.to_thread(CliRunner().invoke, stats_command, ["--store", url])
    assert "store_recovered: settlement_written (1)" in shown.output
    shown = await asyncio.to_thread(CliRunner().invoke, show_command, ["task", "--store", url])
    assert "store: a settlement is not written yet" in shown.output


async def test_a_settlement_that_is_lost_is_told(tmp_path: Path) -> None:
    """Sinks hear of it even at the end, and the doubt is there for everybody."""
    desk = Desk(tmp_path / "failsoft.db")
    assert (await desk.harness.call("send", {"to": "ada"}, run="r")).ok
    await desk.harness.aclose()
    desk.stack.close()
    assert ("store_trouble", "settlement_lost") in desk.told()
    assert desk.harness.stats().store.lost == 1


async def test_what_the_journal_loses_is_told_once(tmp_path: Path) -> None:
    """However long it goes on; telling of each loss would be lost as well."""
    desk = Desk(tmp_path / "failsoft.db")
    harness = desk.harness
    await harness.journal.flush()
    await desk.store.doubts()
    with locked(desk.path):
        for _ in range(3):
            await harness.call("nobody", {}, run="r")
            await harness.journal.flush()
    assert [what for _, what in desk.told()].count("journal_lost") == 1
    assert harness.stats().store.journal_lost >= 2
    await harness.aclose()


async def test_a_closed_harness_hears_no_more_of_a_store_that_it_shared(tmp_path: Path) -> None:
    """And keeps nothing alive."""
    store = open_store(f"sqlite:///{tmp_path}/failsoft.db")
    harness = Harness([], store=store)
    assert len(store.troubles._listeners) == 1
    await harness.aclose()
    assert store.troubles._listeners == ()
    assert open_store("memory").stats().lost == 0
    await store.close()
