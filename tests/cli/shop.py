"""A shop whose payment service goes quiet; for the commands that read what was stored."""

import asyncio

from failsoft import Harness, Policy, tool


@tool(destructive=True, timeout_s=0.05)
async def pay(account: str, cents: int, api_key: str = "") -> str:
    """Pay somebody.

    Args:
        account: Whom.
        cents: How much.
        api_key: Ours.
    """
    await asyncio.sleep(30)
    return "paid"


@tool(read_only=True, retry=3)
async def price(item: str, count: int = 1) -> int:
    """Look a price up.

    Args:
        item: Of what.
        count: Of how many.
    """
    if item == "gone":
        raise LookupError("no such item")
    return 5 * count


@tool(read_only=True, approval="always")
def open_safe() -> str:
    """Open the safe."""
    return "open"


@tool
def undeclared(x: int) -> int:
    """Do something."""
    return x


def harness(store):
    return Harness([pay, price], store=store, name="shop", policies={"price": Policy(timeout=3)}, config=None)


async def a_day(store):
    """One run with a success, mended arguments, a failure and a doubt; gives the doubt's id."""
    async with harness(store) as shop, shop.run("run_a") as run:
        await run.call("price", {"item": "nail"}, id="c1")
        await run.call("price", {"item": "nail", "count": "many"}, id="c2")
        await run.call("price", {"item": "nail", "count": "lots"}, id="c3")
        await run.call("price", {"item": "nail", "count": 3}, id="c4")
        await run.call("price", '{"item": ', id="c5")
        await run.call("price", {"item": "gone"}, id="c6")
        paid = await run.call(
            "pay", {"account": "DE-1", "cents": 500, "api_key": "sk-live-0123456789abcdef"}, id="c7"
        )
        return paid.doubt
