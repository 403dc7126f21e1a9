"""The ledger's trouble is nobody's second effect."""

import asyncio
import random
import sqlite3
import threading

import pytest

from failsoft import Harness, NotDone, Policy, Retry, Timeout, ToolCall, tool
from failsoft.core.errors import make_error
from failsoft.stores.memory import MemoryStore
from failsoft.testing.clock import run_virtual

PLAIN = Policy(retry=None, breaker=None)


class Faulty(MemoryStore):
    """A memory store whose verbs raise on order."""

    def __init__(self, **faults):
        super().__init__()
        self.faults = faults

    def _fail(self, verb):
        if self.faults.get(verb):
            raise self.faults[verb]

    async def look(self, intent):
        """As the real one, or the fault."""
        self._fail("look")
        return await super().look(intent)

    async def begin(self, intent):
        """As the real one, or the fault after it."""
        verdict = await super().begin(intent)
        self._fail("begin")
        return verdict

    async def settle(self, key, owner_token, settlement):
        """As the real one, or the fault."""
        self._fail("settle")
        return await super().settle(key, owner_token, settlement)


def charger(then=None, **options):
    """A protected tool that counts its effects."""
    effects = []

    @tool(**{"read_only": False, "idempotent": False, **options})
    async def charge(order: str) -> str:
        """Charge.

        Args:
            order: Order.
        """
        effects.append(order)
        await asyncio.sleep(0)
        if then is not None:
            raise then
        return "charged"

    return charge, effects


@pytest.mark.parametrize(
    "fault", [OSError("disk"), make_error("unavailable", "db down"), RuntimeError("bug")]
)
@pytest.mark.parametrize("verb", ["look", "begin"])
async def test_a_ledger_that_fails_before_the_body_stops_it(verb, fault):
    """No record, no effect; once the ledger is well again the call runs, without a doubt."""
    charge, effects = charger()
    store = Faulty(**{verb: fault})
    async with Harness([charge], policy=PLAIN, store=store) as harness, harness.run() as run:
        result = await run.call("charge", {"order": "1"})
        assert effects == []
        assert not result.ok
        assert result.error.effect == "none"
        store.faults.clear()
        assert (await run.call("charge", {"order": "1"})).value == "charged"
        assert await harness.doubts() == []
        assert harness.stats().in_flight == 0
    assert effects == ["1"]


@pytest.mark.parametrize("fault", [OSError("disk"), make_error("unavailable", "db down")])
async def test_a_ledger_that_fails_after_the_body_loses_no_value_and_blocks_the_repeat(fault):
    """The caller gets the value; an identical call does not run again while nobody knows."""
    charge, effects = charger()
    store = Faulty(settle=fault)
    async with Harness([charge], policy=PLAIN, store=store) as harness, harness.run() as run:
        assert (await run.call("charge", {"order": "1"})).value == "charged"
        again = await run.call("charge", {"order": "1"})
        assert not again.ok
    assert effects == ["1"]


async def test_a_verify_that_lies_or_raises_leaves_the_doubt():
    """Only an answer counts: an exception of the check is neither yes nor no."""
    answers = iter([RuntimeError("x"), asyncio.CancelledError(), NotDone])

    async def verify(order: str):
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    charge, effects = charger(make_error("internal", "lost"), verify=verify)
    async with Harness([charge], policy=PLAIN, store="memory") as harness:
        await harness.call("charge", {"order": "1"})
        for _ in range(2):
            blocked = await harness.call("charge", {"order": "1"})
            assert blocked.error.kind == "in_doubt"
        assert effects == ["1"]
        await harness.call("charge", {"order": "1"})
    assert effects == ["1", "1"]
    assert asyncio.current_task().cancelling() == 0


async def test_two_harnesses_on_one_file_have_one_effect(tmp_path):
    """Two programs ask for the same charge of one run at once: one runs, the other is told that it runs."""
    url = f"sqlite:///{tmp_path}/a.db"
    gate, effects = asyncio.Event(), []

    def made():
        @tool(read_only=False, idempotent=False)
        async def charge(order: str) -> str:
            """Charge.

            Args:
                order: Order.
            """
            effects.append(order)
            await gate.wait()
            return "charged"

        return Harness([charge], policy=PLAIN, store=url)

    async with made() as one, made() as two:
        first = asyncio.create_task(one.call("charge", {"order": "1"}, run="r"))
        await asyncio.sleep(0.1)
        second = await two.call("charge", {"order": "1"}, run="r")
        assert second.error.reason == "already_running"
        gate.set()
        assert (await first).ok
        assert (await two.call("charge", {"order": "1"}, run="r")).replayed
    assert effects == ["1"]


@pytest.mark.slow
async def test_a_locked_file_stops_the_effect_within_the_deadline(tmp_path):
    """Another program holds the file: an answer in time, nothing ran, and afterwards it runs."""
    charge, effects = charger()
    file = tmp_path / "a.db"
    async with Harness([charge], policy=PLAIN, store=f"sqlite:///{file}") as harness:
        await harness.doubts()
        release, locked = threading.Event(), threading.Event()

        def hold():
            other = sqlite3.connect(file, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            locked.set()
            release.wait(15)
            other.execute("ROLLBACK")
            other.close()

        holder = threading.Thread(target=hold)
        holder.start()
        locked.wait(5)
        began = asyncio.get_running_loop().time()
        result = await harness.call("charge", {"order": "1"}, deadline_s=1.0)
        took_s = asyncio.get_running_loop().time() - began
        release.set()
        holder.join()
        assert not result.ok
        assert result.error.effect == "none"
        assert effects == []
        assert took_s < 2.5
        assert (await harness.call("charge", {"order": "2"})).ok


@pytest.mark.parametrize("seed", range(40))
def test_random_runs_never_charge_twice_and_never_lie(seed):
    """Cancels, time-outs, retries and repeats at random: no order is charged twice, and who is told that it happened is told the truth."""

    async def main(clock):
        rng = random.Random(seed)
        effects = {}

        @tool(
            read_only=False,
            idempotent=False,
            timeout=Timeout(attempt_s=2, total_s=2),
            retry=Retry(base_s=0.1),
        )
        async def charge(order: str) -> str:
            """Charge.

            Args:
                order: Order.
            """
            await asyncio.sleep(rng.random() * 2)
            moment = rng.random()
            if moment < 0.2:
                raise make_error("unavailable", "before", effect="none")
            effects[order] = effects.get(order, 0) + 1
            await asyncio.sleep(rng.random() * 2)
            if moment < 0.4:
                raise ConnectionResetError(104, "after")
            return "charged"

        harness = Harness([charge], clock=clock, rng=rng, store="memory", builtins=False)
        async with harness.run() as run:

            async def caller(order):
                result = (await run.call_all([ToolCall("c", "charge", {"order": order})]))[0]
                if result.ok:
                    assert effects.get(order), "told that it happened"
                return result

            tasks = []
            for _ in range(30):
                task = asyncio.create_task(caller(str(rng.randrange(4))))
                tasks.append(task)
                await asyncio.sleep(rng.random())
                if rng.random() < 0.3:
                    rng.choice(tasks).cancel()
            await asyncio.wait(tasks)
            failures = [task.exception() for task in tasks if not task.cancelled()]
            assert [failure for failure in failures if failure is not None] == []
        assert all(count == 1 for count in effects.values()), effects
        assert harness.stats().in_flight == 0
        await harness.aclose()

    run_virtual(main)
