"""Eight processes, one store, the same keys: delays, leases that end too early, kills, and clocks that disagree.

    python -m tests.crash.crowd URL FOLDER [--workers 8] [--keys 200] [--kills 12] [--seed 1]

Prints one JSON object: how many effects each key had, what was answered, and what is in doubt.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from failsoft.core.errors import AgentError
from failsoft.ledger.decide import Go
from failsoft.ledger.records import Settlement
from failsoft.ledger.states import ClaimState
from failsoft.stores import open_store, postgres, sqlite
from failsoft.testing.store_suite import make_intent
from tests.crash.matrix import _fork, _in_child, _wait

_ = postgres, sqlite  # loaded before the fork
# Two agree, the others are wrong by less and by more than a lease.
SKEWS_S = (0.0, 0.0, -0.1, 0.2, -5.0, 5.0, -3600.0, 3600.0)
LEASE_S = 0.25
AT_ONCE = 6


def intent_of(order: int) -> Any:
    """The same for all workers but for the token."""
    return make_intent({"order": order}, run_id="crowd", lease_s=LEASE_S)


def _store(url: str, skew_s: float) -> Any:
    def wall() -> float:
        return time.time() + skew_s

    if url.startswith("sqlite:///"):
        return open_store(url, wall=wall)
    return postgres.PostgresStore(url, wall=wall)


async def work(url: str, folder: Path, keys: int, number: int, seed: int) -> None:
    """Try every key once, in an order and with delays of one's own."""
    rng = random.Random(seed)
    store = _store(url, SKEWS_S[number % len(SKEWS_S)])
    effects = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND)
    notes = os.open(folder / "notes", os.O_WRONLY | os.O_APPEND)
    orders = list(range(keys))
    rng.shuffle(orders)
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(order: int) -> None:
        async with turn:
            intent = intent_of(order)
            if rng.random() < 0.5:
                await store.look(intent)
            await asyncio.sleep(rng.random() * 0.01)
            try:
                verdict = await store.begin(intent)
            except AgentError:
                os.write(notes, b"refused\n")
                return
            os.write(notes, f"{type(verdict).__name__}\n".encode())
            if not isinstance(verdict, Go):
                return
            await act(order, intent)

    async def act(order: int, intent: Any) -> None:
        fails = rng.random() < 0.1
        if not fails:
            os.write(effects, f"{order}\n".encode())
        # One in five outlives its lease; half of those renew it first.
        slow = rng.random() < 0.2
        if slow and rng.random() < 0.5:
            await store.renew(intent.key, intent.owner_token, LEASE_S * 3)
        await asyncio.sleep(LEASE_S * 1.5 if slow else rng.random() * 0.02)
        state = ClaimState.FAILED if fails else ClaimState.SUCCEEDED
        settlement = Settlement(state=state, result=f'"{order}"')
        if rng.random() < 0.3:
            store.settle_soon(intent.key, intent.owner_token, settlement)
        else:
            await store.settle(intent.key, intent.owner_token, settlement)

    await asyncio.gather(*map(one, orders))
    await store.close()


async def look_back(url: str, keys: int) -> dict[str, Any]:
    """What the store says in the end."""
    store = _store(url, 0.0)
    await store.recover()
    doubts = {doubt.key: str(doubt.kind) for doubt in await store.doubts()}
    said = {}
    for order in range(keys):
        verdict = await store.look(intent_of(order))
        said[order] = [type(verdict).__name__, doubts.get(intent_of(order).key)]
    await store.close()
    return said


def crowd(url: str, folder: Path, *, workers: int, keys: int, kills: int, seed: int) -> dict[str, Any]:
    """Let them loose, kill some, replace them, and count."""
    rng = random.Random(seed)
    for name in ("effects", "notes"):
        (folder / name).touch()

    def start(number: int, own: int) -> int:
        return _fork(work(url, folder, keys, number, own), None)

    alive = {number: start(number, number) for number in range(workers)}
    for kill in range(kills):
        time.sleep(rng.uniform(0.05, 0.3))
        number = rng.randrange(workers)
        os.kill(alive[number], signal.SIGKILL)
        _wait(alive[number])
        alive[number] = start(number, workers + kill)
    statuses = [_wait(pid) for pid in alive.values()]
    happened = Counter(map(int, (folder / "effects").read_text().split()))
    said = _in_child(look_back(url, keys))
    return {
        "statuses": statuses,
        "effects": {str(order): happened[order] for order in range(keys)},
        "answers": Counter((folder / "notes").read_text().split()),
        "said": said,
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.crowd", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    for name, default in (("workers", 8), ("keys", 200), ("kills", 12), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    json.dump(crowd(options.pop("url"), options.pop("folder"), **options), sys.stdout)


if __name__ == "__main__":
    main()
