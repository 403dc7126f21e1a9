"""Effects happen once, and what is told of them is true, whoever is cancelled, joined or in trouble meanwhile."""

import asyncio

import pytest

from failsoft import Fallback, Harness, Policy, ToolCall, interrupted_results, tool
from failsoft.core.errors import make_error
from failsoft.stores.memory import MemoryStore

PLAIN = Policy(retry=None, breaker=None)


class SlowStore(MemoryStore):
    """A memory store whose verbs take time, and can be held up."""

    def __init__(self, **waits):
        super().__init__()
        self.waits = waits

    async def look(self, intent):
        """As the real one, later."""
        await asyncio.sleep(self.waits.get("look", 0))
        return await super().look(intent)

    async def begin(self, intent):
        """As the real one, later: written first, told afterwards."""
        verdict = await super().begin(intent)
        await asyncio.sleep(self.waits.get("begin", 0))
        return verdict

    async def settle(self, key, owner_token, settlement):
        """As the real one, later."""
        settled = await super().settle(key, owner_token, settlement)
        await asyncio.sleep(self.waits.get("settle", 0))
        return settled


def charger(body=None, **options):
    """A protected tool that counts its effects."""
    effects = []

    @tool(**{"read_only": False, "idempotent": False, **options})
    async def charge(order: str) -> str:
        """Charge.

        Args:
            order: Order.
        """
        effects.append(order)
        if body is not None:
            return await body()
        await asyncio.sleep(0.05)
        return f"charged {order}"

    return charge, effects


@pytest.mark.parametrize("store", ["memory", "sqlite", "slow"])
async def test_identical_calls_at_once_have_one_effect_and_one_answer(store, tmp_path):
    """Fifty identical calls of a run at once: one body, and every caller gets its value."""
    charge, effects = charger()
    made = {
        "memory": "memory",
        "sqlite": f"sqlite:///{tmp_path}/a.db",
        "slow": SlowStore(begin=0.01, settle=0.01),
    }
    async with Harness([charge], policy=PLAIN, store=made[store]) as harness, harness.run() as run:
        results = await asyncio.gather(*(run.call("charge", {"order": "1"}) for _ in range(50)))
        assert harness.stats().in_flight == 0
    assert effects == ["1"]
    assert [result.value for result in results] == ["charged 1"] * 50


async def test_a_joined_call_is_not_cancelled_with_its_leader():
    """The first caller is cancelled in the body: those who joined are told of the doubt, not that they were cancelled."""
    charge, effects = charger(lambda: asyncio.sleep(10))
    async with Harness([charge], policy=PLAIN, store="memory") as harness, harness.run() as run:
        leader = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.01)
        joined = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.01)
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
        result = await joined
    assert effects == ["1"]
    assert result.error.kind == "in_doubt"
    assert result.doubt is not None


async def test_a_joined_call_runs_where_its_leader_never_began():
    """The first caller is cancelled before its body began: those who joined run."""
    charge, effects = charger()
    store = SlowStore(begin=0.05)
    async with Harness([charge], policy=PLAIN, store=store) as harness, harness.run() as run:
        leader = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.01)
        joined = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.01)
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
        result = await joined
        assert result.value == "charged 1"
        assert await harness.doubts() == []
    assert effects == ["1"]


async def test_a_cancel_while_the_intent_is_written_leaves_no_claim():
    """Nothing ran, so the next identical call runs at once and nothing is in doubt."""
    charge, effects = charger()
    store = SlowStore(begin=0.05)
    async with Harness([charge], policy=PLAIN, store=store) as harness:
        task = asyncio.create_task(harness.call_all([ToolCall("c", "charge", {"order": "1"})]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert interrupted_results(caught.value)[0].error.effect == "none"
        assert effects == []
        assert (await harness.call("charge", {"order": "1"})).value == "charged 1"
        assert await harness.doubts() == []


async def test_a_cancel_while_a_success_is_written_down_loses_nothing():
    """It happened and is known: the interrupted result says so, and so does the replay."""
    charge, effects = charger()
    store = SlowStore(settle=0.1)
    async with Harness([charge], policy=PLAIN, store=store) as harness, harness.run() as run:
        task = asyncio.create_task(run.call_all([ToolCall("c", "charge", {"order": "1"})]))
        joined = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        (result,) = interrupted_results(caught.value)
        assert result.ok
        assert result.value == "charged 1"
        assert (await joined).value == "charged 1"
        assert (await run.call("charge", {"order": "1"})).replayed
        assert await harness.doubts() == []
    assert effects == ["1"]


async def test_a_fallback_is_no_success_of_the_call_that_it_stands_in_for():
    """Nothing was charged, so the ledger does not say that it was: the next identical call runs."""

    async def fail():
        if len(effects) == 1:
            raise make_error("unavailable", "not now", effect="none")
        return "charged"

    charge, effects = charger(fail, fallback=Fallback(value="noted for later"))
    async with Harness([charge], policy=PLAIN, store="memory") as harness, harness.run() as run:
        first = await run.call("charge", {"order": "1"})
        assert (first.value, first.degraded) == ("noted for later", True)
        second = await run.call("charge", {"order": "1"})
        assert (second.value, second.replayed, second.degraded) == ("charged", False, False)
    assert effects == ["1", "1"]


async def test_a_tool_that_calls_itself_with_the_same_arguments_is_told_at_once():
    """It would wait for itself until its time is over."""
    inner = []

    async def again():
        result = await run.call("charge", {"order": "1"})
        inner.append(result.error)
        return "charged"

    charge, effects = charger(again)
    async with Harness([charge], policy=PLAIN, store="memory") as harness, harness.run() as run:
        async with asyncio.timeout(2):
            assert (await run.call("charge", {"order": "1"})).ok
    assert effects == ["1"]
    assert inner[0].reason == "already_running"


async def test_a_late_success_after_somebody_said_no_is_a_double_effect():
    """A body left alone, its claim lost, resolved as not happened, then it succeeds: a doubt of its own."""
    charge, _ = charger()
    events = []
    async with (
        Harness([charge], policy=PLAIN, store="memory", sinks=[events.append]) as harness,
        harness.run() as run,
    ):
        calling = asyncio.create_task(run.call("charge", {"order": "1"}))
        await asyncio.sleep(0.01)
        store = harness._shared.store
        (claim,) = harness._shared.flights.values()
        intent = claim.intent
        from failsoft.ledger.records import Settlement
        from failsoft.ledger.states import ClaimState

        lost = await store.settle(
            intent.key, intent.owner_token, Settlement(state=ClaimState.IN_DOUBT, known="lost")
        )
        await harness.resolve(lost.doubt.id, happened=False, by="somebody")
        result = await calling
        assert result.ok
        doubts = await harness.doubts()
    assert [doubt.kind for doubt in doubts] == ["double_effect"]
    assert "double_effect" in [str(event.name) for event in events]


async def test_closing_waits_for_a_claimed_body_and_writes_its_end(tmp_path):
    """A harness that is closed while a charge runs lets it end within the grace, and the charge is remembered."""
    charge, effects = charger()
    url = f"sqlite:///{tmp_path}/a.db"
    harness = Harness([charge], policy=PLAIN, store=url)
    run = harness.run("r1")
    calling = asyncio.create_task(run.call("charge", {"order": "1"}))
    while not effects:  # a call whose body has not begun by then is refused
        await asyncio.sleep(0.005)
    await harness.aclose()
    assert (await calling).value == "charged 1"
    async with Harness([charge], policy=PLAIN, store=url) as second:
        result = await second.run("r1").call("charge", {"order": "1"})
    assert result.replayed
    assert effects == ["1"]
