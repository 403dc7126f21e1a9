"""What a model is told of a call in doubt that can be looked up, and of when something was done."""

import json

from failsoft import Harness, NotDone, tool
from failsoft.core.clock import SystemClock
from failsoft.stores import open_store
from failsoft.testing.store_suite import Wall


class Hurried(SystemClock):
    """Waits take no time."""

    waits: tuple[float, ...] = ()

    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        self.waits = (*self.waits, seconds)


def bank(wall: Wall, answers: list, clock: SystemClock | None = None) -> Harness:
    """A payment whose answer is always lost, and a bank that says what it is told to say."""

    def was_paid(order: int):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @tool(read_only=False, verify=was_paid, verify_after_s=100, retry=None)
    async def pay(order: int) -> str:
        raise ConnectionResetError("the answer was lost")

    return Harness([pay], store=open_store("memory", wall=wall), clock=clock)


async def test_a_check_that_is_too_early_says_when_to_come_back() -> None:
    """The model is told that it will be looked up, and in how many seconds that can be final."""
    wall = Wall()
    async with bank(wall, [NotDone, NotDone]) as harness:
        await harness.call("pay", {"order": 1}, run="r")
        wall.at += 40
        result = await harness.call("pay", {"order": 1}, run="r")
        assert result.error.reason == "unresolved_doubt"
        assert result.error.retry_after_s == 60
        told = json.loads(result.content)
        assert "again later" in told["options"][0]
        wall.at += 61
        assert (await harness.call("pay", {"order": 1}, run="r")).attempts == 1


async def test_a_check_that_fails_can_be_asked_for_again() -> None:
    """Without a time, for nobody knows when the bank is back."""
    wall = Wall()
    async with bank(wall, [RuntimeError("a bug"), "receipt"]) as harness:
        await harness.call("pay", {"order": 1}, run="r")
        wall.at += 200
        result = await harness.call("pay", {"order": 1}, run="r")
        assert result.error.retry_after_s is None
        assert "again later" in json.loads(result.content)["options"][0]
        assert (await harness.call("pay", {"order": 1}, run="r")).value == "receipt"


async def test_a_look_that_may_pass_is_taken_again() -> None:
    """A bank that is away for a moment is asked three times, and no more."""
    wall, clock = Wall(), Hurried()
    away = [ConnectionRefusedError(111, "refused"), TimeoutError("slow")]
    async with bank(wall, [*away, "receipt", *away, *away], clock) as harness:
        for order in (1, 2):
            await harness.call("pay", {"order": order}, run="r")
        wall.at += 200
        assert (await harness.call("pay", {"order": 1}, run="r")).value == "receipt"
        assert clock.waits == (0.2, 0.8)
        assert (await harness.call("pay", {"order": 2}, run="r")).error.reason == "unresolved_doubt"
        assert clock.waits == (0.2, 0.8) * 2


async def test_arguments_that_a_newer_tool_does_not_take_leave_the_doubt_open() -> None:
    """Starting up goes on; a person can still say what happened."""
    store = open_store("memory")

    @tool(read_only=False)
    async def pay(order: int) -> str:
        raise ConnectionResetError("the answer was lost")

    async def pay_by_name(customer: str) -> str:
        return "receipt"

    old = Harness([pay], store=store)
    await old.call("pay", {"order": 1}, run="r")
    newer = tool(pay_by_name, name="pay", read_only=False, verify=lambda customer: NotDone)
    async with Harness([newer], store=store) as harness:
        (doubt,) = await harness.recover()
        assert doubt.tool == "pay"


async def test_already_done_names_the_time_of_the_call() -> None:
    """Not the time at which somebody found out that it had been done."""
    wall = Wall()
    wall.at = 1_700_000_000.0
    async with bank(wall, []) as harness:
        await harness.call("pay", {"order": 1}, run="r")
        (doubt,) = await harness.doubts()
        wall.at += 86_400
        await harness.resolve(doubt.id, happened=True, result="receipt")
        result = await harness.call("pay", {"order": 1}, run="r")
    assert result.replayed
    assert "2023-11-14 22:13:20" in result.content
