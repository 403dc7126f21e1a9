"""What the harness does with what the ledger knows: replay, join, doubt, repeat."""

import asyncio
import re

import pytest

from failsoft import Harness, NotDone, Policy, Timeout, tool
from failsoft.core.errors import Unavailable


class Desk:
    """A desk whose acts are counted."""

    def __init__(self, fail=None):
        self.acts = []
        self.fail = fail

    def tools(self, **options):
        @tool(read_only=False, **options)
        async def refund(order: str, note: str = "") -> dict:
            """Refund an order."""
            self.acts.append(order)
            if self.fail is not None:
                raise self.fail
            return {"refunded": order, "number": len(self.acts)}

        return [refund]


LOST = ConnectionResetError(104, "reset")


async def test_a_success_is_replayed_within_a_run_only():
    """An identical call in the same run gets the recorded result; another run, or no run, does it again."""
    desk = Desk()
    async with Harness(desk.tools(), store="memory") as harness:
        async with harness.run() as run:
            first = await run.call("refund", {"order": "o1"}, id="a")
            again = await run.call("refund", '{"order":"o1","note":""}', id="b")
        async with harness.run() as other:
            third = await other.call("refund", {"order": "o1"})
        await harness.call("refund", {"order": "o1"})
        await harness.call("refund", {"order": "o1"})
    assert len(desk.acts) == 4
    assert not first.replayed
    assert again.replayed
    assert again.value == first.value
    assert again.call.id == "b"
    assert re.match(r"\[already done at 20\d\d-", again.content)
    assert not third.replayed


async def test_an_undeclared_success_runs_again():
    """A plain tool is not remembered after a success."""
    ran = []

    @tool
    async def vague(x: int) -> int:
        """Do."""
        ran.append(x)
        return x

    with pytest.warns(match="vague"):
        harness = Harness([vague], store="memory")
    async with harness, harness.run() as run:
        await run.call("vague", {"x": 1})
        await run.call("vague", {"x": 1})
    assert ran == [1, 1]


async def test_identical_calls_at_once_join():
    """Two identical calls at the same time run the body once and both get its result."""
    ran = []

    @tool(read_only=False)
    async def act(x: int) -> int:
        """Act."""
        ran.append(x)
        await asyncio.sleep(0.01)
        return 7

    async with Harness([act], store="memory") as harness, harness.run() as run:
        results = await asyncio.gather(*(run.call("act", {"x": 1}, id=f"c{n}") for n in range(5)))
    assert ran == [1]
    assert [result.value for result in results] == [7] * 5
    assert [result.call.id for result in results] == ["c0", "c1", "c2", "c3", "c4"]
    assert sum(result.joined for result in results) == 4
    assert sum(result.content.startswith("[run once") for result in results) == 4


async def test_a_doubt_blocks_the_identical_call_across_runs():
    """While nobody knows whether it happened, the same call is not run: not in this run, not in another."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness:
        async with harness.run() as run:
            first = await run.call("refund", {"order": "o1"})
        async with harness.run() as run:
            second = await run.call("refund", {"order": "o1"})
        third = await harness.call("refund", {"order": "o1"})
        assert first.error.kind == "network"
        assert first.doubt
        for later in (second, third):
            assert later.error.kind == "in_doubt"
            assert later.doubt == first.doubt
            assert later.attempts == 0
        assert desk.acts == ["o1"]
        (doubt,) = await harness.doubts()
        assert doubt.id == first.doubt
        await harness.resolve(doubt.id, happened=False, by="a person")
        desk.fail = None
        assert (await harness.call("refund", {"order": "o1"})).ok
        assert await harness.doubts() == []


async def test_resolving_as_happened_replays_in_its_run():
    """A doubt that is resolved with a result answers identical calls of its run with it."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        first = await run.call("refund", {"order": "o1"})
        await harness.resolve(first.doubt, happened=True, result={"refunded": "o1"})
        again = await run.call("refund", {"order": "o1"})
    assert again.replayed
    assert again.value == {"refunded": "o1"}
    assert len(desk.acts) == 1


async def test_the_model_resolves_a_doubt_where_it_may():
    """`resolve_doubt` is offered, takes the model's word, and frees or settles the call."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        first = await run.call("refund", {"order": "o1"})
        assert "resolve_doubt" in first.content
        said = await run.call(
            "resolve_doubt", {"doubt": first.doubt, "happened": False, "evidence": "no refund listed"}
        )
        assert said.ok
        desk.fail = None
        assert (await run.call("refund", {"order": "o1"})).ok
    assert len(desk.acts) == 2


async def test_only_a_person_resolves_a_destructive_doubt():
    """The model may not settle a doubt about something destructive."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(destructive=True), store="memory") as harness, harness.run() as run:
        first = await run.call("refund", {"order": "o1"})
        said = await run.call("resolve_doubt", {"doubt": first.doubt, "happened": False, "evidence": "x"})
    assert said.error.kind == "permission_denied"
    assert said.error.owner == "human"
    assert "person" in first.content


async def test_repeat_call_does_it_again_on_purpose():
    """A deliberate second identical effect runs once more, under its number; the same number is replayed."""
    desk = Desk()
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        first = await run.call("refund", {"order": "o1"})
        offered = await run.call("refund", {"order": "o1"})
        assert "occurrence=2" in offered.content
        arguments = {"tool": "refund", "arguments": {"order": "o1"}, "occurrence": 2}
        second = await run.call("repeat_call", arguments)
        replay = await run.call("repeat_call", arguments)
    assert first.value["number"] == 1
    assert second.value["number"] == 2
    assert replay.replayed
    assert len(desk.acts) == 2


async def test_repeat_call_is_refused_while_in_doubt():
    """What may have happened is not repeated by number either."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        await run.call("refund", {"order": "o1"})
        again = await run.call(
            "repeat_call", {"tool": "refund", "arguments": {"order": "o1"}, "occurrence": 2}
        )
    assert again.error.kind == "in_doubt"
    assert len(desk.acts) == 1


async def test_repeat_call_asks_for_permission_anew():
    """A repeat passes roles and approval like any call."""
    asked = []

    def approve(call, tool):
        asked.append(call.name)
        return len(asked) < 2

    desk = Desk()
    async with (
        Harness(desk.tools(approval="always"), store="memory", approve=approve) as harness,
        harness.run() as run,
    ):
        assert (await run.call("refund", {"order": "o1"})).ok
        again = await run.call(
            "repeat_call", {"tool": "refund", "arguments": {"order": "o1"}, "occurrence": 2}
        )
    assert asked == ["refund", "refund"]
    assert again.error.reason == "refused"


async def test_a_call_that_differs_in_text_only_is_told_once():
    """While a doubt is open, a call with other free text is answered once with it, and then runs."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        await run.call("refund", {"order": "o1", "note": "sorry for the trouble"})
        desk.fail = None
        told = await run.call("refund", {"order": "o1", "note": "we are very sorry"})
        assert told.error.kind == "in_doubt"
        assert told.error.effect == "none"
        ran = await run.call("refund", {"order": "o1", "note": "we are very sorry"})
    assert ran.ok
    assert len(desk.acts) == 2


async def test_verify_is_asked_and_believed():
    """A tool that can look up whether it happened is asked before the model or a person is."""
    desk = Desk(fail=LOST)
    answers = [NotDone, {"refunded": "o1"}]

    async def verify(order: str):
        return answers.pop()

    tools = desk.tools(verify=verify)
    async with Harness(tools, store="memory") as harness, harness.run() as run:
        await run.call("refund", {"order": "o1"})
        again = await run.call("refund", {"order": "o1"})
        assert again.replayed
        assert again.value == {"refunded": "o1"}
        desk.fail = LOST
        await run.call("refund", {"order": "o2"})
        desk.fail = None
        fresh = await run.call("refund", {"order": "o2"})
        assert fresh.ok
        assert not fresh.replayed
    assert desk.acts == ["o1", "o2", "o2"]


async def test_a_failure_that_proves_that_nothing_happened_frees_the_call():
    """After a certain failure the same call is fresh."""
    desk = Desk(fail=Unavailable("closed", effect="none", retryable=False))
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        first = await run.call("refund", {"order": "o1"})
        desk.fail = None
        second = await run.call("refund", {"order": "o1"})
    assert first.doubt is None
    assert second.ok


async def test_an_idempotency_key_is_kept_over_attempts_and_runs():
    """The tool gets one key for one call, also when it is tried again later; with it a possible effect is retried."""
    keys = []

    @tool(read_only=False, idempotency_key="key")
    async def pay(order: str, key: str) -> str:
        """Pay."""
        keys.append(key)
        if len(keys) < 5:
            raise ConnectionResetError(104, "reset")
        return "paid"

    policy = Policy(retry=2, retry_budget=None, breaker=None)
    async with Harness([pay], store="memory", policy=policy, clock=None) as harness:
        assert "key" not in harness.schemas("anthropic")[0]["input_schema"]["properties"]
        results = [await harness.call("pay", {"order": "o1"}) for _ in range(3)]
    assert [result.ok for result in results] == [False, False, True]
    assert len(keys) == 5
    assert len(set(keys)) == 1


def test_a_thread_that_outlives_its_time_out_settles_late():
    """The caller is answered on time; while the body runs on the call is running; its late success is known."""
    import threading

    gate = threading.Event()

    @tool(read_only=False, timeout=Timeout(attempt_s=0.1, total_s=0.1, grace_s=0.05))
    def act(x: int) -> str:
        """Act."""
        gate.wait(5)
        return "late"

    async def main():
        async with Harness([act], store="memory") as harness, harness.run() as run:
            first = await run.call("act", {"x": 1})
            during = await run.call("act", {"x": 1})
            stats = harness.stats()
            gate.set()
            for _ in range(200):
                await asyncio.sleep(0.01)
                after = await run.call("act", {"x": 1})
                if after.ok:
                    break
            return first, during, stats, after

    first, during, stats, after = asyncio.run(main())
    assert first.error.kind == "timeout"
    assert first.error.effect == "possible"
    assert during.error.reason == "already_running"
    assert stats.zombies == 1
    assert after.replayed
    assert after.value == "late"


async def test_a_key_of_the_callers_is_the_identity():
    """The same key with other arguments is refused."""
    desk = Desk()
    async with Harness(desk.tools(), store="memory") as harness, harness.run() as run:
        await run.call("refund", {"order": "o1"}, key="k")
        again = await run.call("refund", {"order": "o1"}, key="k")
        other = await run.call("refund", {"order": "o2"}, key="k")
    assert again.replayed
    assert other.error.kind == "conflict"
    assert desk.acts == ["o1"]


async def test_scopes_do_not_meet():
    """A doubt of one tenant is none of another's business."""
    desk = Desk(fail=LOST)
    async with Harness(desk.tools(), store="memory") as harness:
        await harness.call("refund", {"order": "o1"}, scope="a")
        desk.fail = None
        assert (await harness.call("refund", {"order": "o1"}, scope="b")).ok
        assert (await harness.call("refund", {"order": "o1"}, scope="a")).error.kind == "in_doubt"
