"""A disk that is full and a server that restarts, in the middle of a run: nothing is lost, and it is said."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from failsoft import Harness, tool
from failsoft.stores import open_store

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 3 MB of its own; skipped where mounting is not allowed."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own needs root; `test_sqlite` limits the file's pages instead")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all that is left."""
    ballast = place / "ballast"
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return ballast


class Shop:
    """The world: what was charged, and what happens while it charges."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.events: list = []
        self.meanwhile = lambda: None

    def harness(self, url: str) -> Harness:
        @tool(read_only=False)
        async def charge(order: str) -> str:
            """Charge an order."""
            self.effects[order] += 1
            meanwhile, self.meanwhile = self.meanwhile, lambda: None
            meanwhile()
            return f"charged {order} " + "x" * 20_000

        return Harness([charge], store=url, sinks=[self.events.append])

    def troubles(self) -> list[str]:
        return [event.data["what"] for event in self.events if event.name == "store_trouble"]


async def ask(run, order: str):
    return await run.call("charge", {"order": order})


def assert_refused(result) -> None:
    """Said clearly: nothing was done, and why."""
    error = result.error
    assert (error.kind, error.reason, error.effect) == ("unavailable", "ledger_unavailable", "none")
    assert "nothing was done" in result.content.lower()
    assert error.__cause__ is not None


@pytest.mark.timeout(60)
async def test_a_full_disk(small_disk: Path) -> None:
    """An effect begins only where its claim is on the disk; what ended is kept until there is room."""
    shop, url = Shop(), f"sqlite:///{small_disk}/failsoft.db"
    async with shop.harness(url) as harness, harness.run("r") as run:
        assert (await ask(run, "before")).ok
        ballast = None

        def disk_fills_up() -> None:
            nonlocal ballast
            ballast = fill(small_disk)

        shop.meanwhile = disk_fills_up
        asked, refused = ["meanwhile"], []
        assert (await ask(run, "meanwhile")).ok
        # SQLite writes over its old log for a while; in the end there is no room for it either.
        for number in range(400):
            result = await ask(run, f"full-{number}")
            (asked if result.ok else refused).append(f"full-{number}")
            if not result.ok:
                assert_refused(result)
                break
        assert refused
        assert shop.troubles().count("a settlement is not written yet") >= 1
        assert not set(refused) & set(shop.effects)
        ballast.unlink()
        for order in refused:
            assert (await ask(run, order)).ok
        for order in ("before", *asked):
            assert (await ask(run, order)).replayed, order
        assert await harness.doubts() == []
    assert set(shop.effects.values()) == {1}
    async with shop.harness(url) as again, again.run("r") as run:  # and it is on the disk, not in a memory
        for order in ("before", *asked, *refused):
            assert (await ask(run, order)).replayed, order
    assert set(shop.effects.values()) == {1}


@pytest.mark.timeout(60)
async def test_a_full_disk_at_the_end(small_disk: Path) -> None:
    """A process that ends while there is no room leaves a doubt about what it could not write, and no silence."""
    shop, url = Shop(), f"sqlite:///{small_disk}/failsoft.db"
    ballast = small_disk / "ballast"
    async with shop.harness(url) as harness, harness.run("r") as run:
        assert (await ask(run, "before")).ok
        shop.meanwhile = lambda: fill(small_disk)
        while not shop.troubles():
            result = await ask(run, f"last-{len(shop.effects)}")
            shop.meanwhile = lambda: None
            if not result.ok:
                break
    ballast.unlink()
    unwritten = [
        event.call_id
        for event in shop.events
        if event.name == "store_trouble" and event.data["what"] == "a settlement is not written yet"
    ]
    store = open_store(url)
    claims = await store._run(lambda tables: tables.running(None))
    await store.close()
    assert unwritten
    assert {claim.call_id for claim in claims} == set(unwritten)
    assert set(shop.effects.values()) == {1}


@pytest.mark.server
@pytest.mark.timeout(90)
async def test_a_restart_of_the_server(postgres_server) -> None:
    """Calls in flight are settled when it is back; those that come meanwhile are refused and have no effect."""
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS failsoft CASCADE")
    shop = Shop()
    async with shop.harness(postgres_server.url) as harness, harness.run("r") as run:
        assert (await ask(run, "before")).ok
        shop.meanwhile = lambda: postgres_server.stop(signal.SIGQUIT)
        try:
            assert (await ask(run, "meanwhile")).ok
            assert "a settlement is not written yet" in shop.troubles()
            results = await asyncio.gather(*(ask(run, f"away-{number}") for number in range(5)))
            for result in results:
                assert_refused(result)
        finally:
            postgres_server.start()
        while not (back := await ask(run, "back")).ok:
            assert_refused(back)
            await asyncio.sleep(0.1)
        for number in range(5):
            assert (await ask(run, f"away-{number}")).ok
        for order in ("before", "meanwhile", "back"):
            assert (await ask(run, order)).replayed, order
        assert await harness.doubts() == []
    assert set(shop.effects.values()) == {1}
