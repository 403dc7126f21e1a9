"""What an outcome says in a few lines for people."""

from failsoft.agent import Agent
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import tool


async def test_what_was_recorded_is_not_counted_as_done_again():
    """One payment is told as one, however often it was asked for: one after the other, and side by side."""
    paid = []

    @tool(idempotent=False)
    async def pay(cents: int) -> str:
        """Pay."""
        paid.append(cents)
        return "paid"

    call = ("pay", {"cents": 5})
    async with Harness([pay], store="memory") as harness:
        outcome = await Agent(ScriptedClient([[call], [call], "done"]), harness).run("pay")
        beside = await Agent(ScriptedClient([[call, call, call], "done"]), harness).run("pay")
    assert paid == [5, 5]
    assert "Done (1): pay.\n1 more was answered with the recorded result." in outcome.summary()
    assert "Done (1): pay.\n2 more were answered with the recorded result." in beside.summary()
