"""A process that claims keys and has effects: run as a script by the tests, and killed by them.

    python worker.py FILE EFFECTS COUNT SEED [POINT KEY]

With POINT (`claimed`, `effect`, `settled`) it kills itself there when it gets to the order KEY.
"""

import asyncio
import os
import random
import signal
import sys

from failsoft.ledger.decide import Go
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store
from failsoft.testing.store_suite import make_intent


def intent_of(order: int, run_id: str = "shared"):
    return make_intent({"order": order}, run_id=run_id, lease_s=30)


async def main(url: str, effects: str, count: int, seed: int, point: str = "", at: str = "-1") -> None:
    rng = random.Random(seed)
    store = open_store(url)
    log = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    orders = list(range(count))
    rng.shuffle(orders)

    def die(here: str, order: int) -> None:
        if here == point and order == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    async def one(order: int) -> None:
        intent = intent_of(order)
        if not isinstance(await store.begin(intent), Go):
            return
        die("claimed", order)
        os.write(log, f"{order}\n".encode())
        die("effect", order)
        await asyncio.sleep(rng.random() * 0.02)
        await store.settle(intent.key, intent.owner_token, Settlement(state=ClaimState.SUCCEEDED, result="1"))
        die("settled", order)

    for start in range(0, count, 4):
        await asyncio.gather(*(one(order) for order in orders[start : start + 4]))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:]))
