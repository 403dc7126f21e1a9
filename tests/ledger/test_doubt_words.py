"""What a model is told of a call in doubt that can be looked up, and of when something was done."""

import json

from failsoft import Harness, NotDone, tool
from failsoft.stores import open_store
from failsoft.testing.store_suite import Wall


def bank(wall: Wall, answers: list) -> Harness:
    """A payment whose answer is always lost, and a bank that says what it is told to say."""

    def was_paid(order: int):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @tool(read_only=False, verify=was_paid, verify_after_s=100, retry=None)
    async def pay(order: int) -> str:
        raise ConnectionResetError("the answer was lost")

    return Harness([pay], store=open_store("memory", wall=wall))


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
    async with bank(wall, [ConnectionError("away"), "receipt"]) as harness:
        await harness.call("pay", {"order": 1}, run="r")
        wall.at += 200
        result = await harness.call("pay", {"order": 1}, run="r")
        assert result.error.retry_after_s is None
        assert "again later" in json.loads(result.content)["options"][0]
        assert (await harness.call("pay", {"order": 1}, run="r")).value == "receipt"


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
