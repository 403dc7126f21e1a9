"""Real processes on one file, killed where it hurts: at most one effect for each key, and none forgotten."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from failsoft.ledger.decide import Go, InDoubt, Replay
from failsoft.stores import open_store
from failsoft.stores.journal import Journal
from tests.stores.worker import intent_of

pytestmark = [pytest.mark.process, pytest.mark.slow]
WORKER = Path(__file__).with_name("worker.py")


def start(url: str, effects: Path, *rest: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(WORKER), url, str(effects), *map(str, rest)])


def effects_of(path: Path) -> Counter[int]:
    return Counter(map(int, path.read_text().split())) if path.exists() else Counter()


@pytest.mark.parametrize(
    ("point", "happened", "wanted"),
    [("claimed", 0, InDoubt), ("effect", 1, InDoubt), ("settled", 1, Replay)],
)
async def test_a_kill_leaves_a_doubt_and_never_a_second_effect(
    tmp_path: Path, point: str, happened: int, wanted: type
) -> None:
    """The next process meets the killed one's call at once, without waiting for its lease, in any run."""
    url, effects = f"sqlite:///{tmp_path}/failsoft.db", tmp_path / "effects"
    worker = start(url, effects, 1, 0, point, 0)
    assert worker.wait(15) == -signal.SIGKILL
    assert effects_of(effects)[0] == happened
    store = open_store(url)
    verdict = await store.look(intent_of(0))
    assert isinstance(verdict, wanted), verdict
    assert isinstance(await store.begin(intent_of(0)), wanted)
    if wanted is InDoubt:
        assert isinstance(await store.begin(intent_of(0, "another run")), InDoubt)
        assert [doubt.id for doubt in await store.doubts()] == [verdict.doubt.id]
        await store.resolve(verdict.doubt.id, happened=False, by="test")
        assert isinstance(await store.begin(intent_of(0)), Go)
    await store.close()


async def test_many_processes_and_kills_share_the_keys(tmp_path: Path) -> None:
    """Four at a time, killed and replaced at random: one effect at most, and every unsettled one is listed."""
    url, effects, count = f"sqlite:///{tmp_path}/failsoft.db", tmp_path / "effects", 60
    rng = random.Random(7)
    workers = [start(url, effects, count, seed) for seed in range(4)]
    for seed in range(4, 10):
        time.sleep(rng.uniform(0.15, 0.45))
        victim = workers.pop(rng.randrange(len(workers)))
        victim.kill()
        victim.wait(5)
        workers.append(start(url, effects, count, seed))
    assert [worker.wait(15) for worker in workers] == [0] * 4
    store = open_store(url)
    await store.recover()
    doubtful = {doubt.key for doubt in await store.doubts()}
    happened = effects_of(effects)
    assert all(times == 1 for times in happened.values()), happened
    for order in range(count):
        verdict = await store.look(intent_of(order))
        assert isinstance(verdict, (Replay, InDoubt)), (order, verdict)
        assert isinstance(verdict, Replay) is (intent_of(order).key not in doubtful)
        assert isinstance(verdict, InDoubt) or happened[order] == 1
    await store.close()


def test_what_was_queued_is_written_at_exit(tmp_path: Path) -> None:
    """A process that ends without closing its store still settles what its zombies reported."""
    code = """
import asyncio, sys
from failsoft.ledger.records import Settlement
from failsoft.stores import open_store
from failsoft.stores.journal import Journal
from tests.stores.worker import intent_of
store = open_store(sys.argv[1])
intent = intent_of(0)
asyncio.run(store.begin(intent))
store.settle_soon(intent.key, intent.owner_token, Settlement(state="succeeded", result="1"))
"""
    url = f"sqlite:///{tmp_path}/failsoft.db"
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, url], check=True, timeout=15, cwd=root)
    assert isinstance(asyncio.run(_look(url)), Replay)


async def _look(url: str):
    store = open_store(url)
    verdict = await store.look(intent_of(0))
    await store.close()
    return verdict


def test_the_last_events_are_written_at_exit(tmp_path: Path) -> None:
    """The journal hands over what it holds before the store lets go."""
    code = """
import sys
from failsoft.core.events import Event, EventName
from failsoft.stores import open_store
from failsoft.stores.journal import Journal
from failsoft.stores.journal import Journal
journal = Journal(open_store(sys.argv[1]), every_s=60)
journal.write(Event(name=EventName.CALL_FINISHED, at=1.0, tool="t", call_id="c", run_id="r"))
"""
    url = f"sqlite:///{tmp_path}/failsoft.db"
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, url], check=True, timeout=15, cwd=root)

    async def runs() -> list[str]:
        store = open_store(url)
        found = [run.id for run in await Journal(store).runs()]
        await store.close()
        return found

    assert asyncio.run(runs()) == ["r"]
