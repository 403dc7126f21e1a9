"""The decisions of the policies beside their peers, in one run on one machine.

    python -m bench.policies [--rounds 30] [--json FILE] [--skip-memory]

In each round every case runs once for about two milliseconds, in a shuffled order, so that a slow moment hits all
alike, and what is counted is the thread's own processor time, so that other work on the machine does not. A ratio is
taken within its round; the figures are medians over the rounds. Peers that are not installed are
left out (`requirements/bench.in` lists them). Memory is measured in a process of its own for each library.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import itertools
import json
import platform
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.growth import curves_of, growth, quiet
from bench.in_turns import RNG, Suite, async_loop, nop, sync_loop
from failsoft.policies import Breaker, BreakerRegistry, BreakerSite, Bulkhead, Rate, RetryBudget

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = 100_000
PEERS = ("circuitbreaker", "pybreaker", "purgatory", "tenacity", "stamina", "aiolimiter", "limits")


def has(name: str) -> bool:
    """Whether a peer is installed."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def closed() -> Suite:
    """One decision of a closed breaker and one success."""
    suite = Suite("closed breaker, one success", "circuitbreaker: with")
    if has("circuitbreaker"):
        import circuitbreaker

        peer = circuitbreaker.CircuitBreaker()
        suite.add("circuitbreaker: with", sync_loop("with cb:\n  pass", cb=peer))
        suite.add("circuitbreaker: call(nop)", sync_loop("cb.call(nop)", cb=peer))
    suite.add("failsoft: admit, success", sync_loop("b.success(b.admit(1.0), 0.1, 1.0)", b=quiet()))
    clock = "t = now(); p = b.admit(t); u = now(); b.success(p, u - t, u)"
    suite.add("failsoft: the same with two clock reads", sync_loop(clock, b=quiet(), now=time.monotonic))
    # Every second call is slow, so that each success shifts both bits of the window under the lock.
    busy = Breaker(window=100, slow_s=1.0, hard_failures=None).start(rng=RNG)
    stmt = "b.success(b.admit(1.0), 2.0, 1.0); b.success(b.admit(1.0), 0.1, 1.0)"
    two = sync_loop(stmt, b=busy)
    suite.add("failsoft: with failures in the window", lambda n: two(n) // 2)
    timed = Breaker(window_s=60.0).start(rng=RNG)
    suite.add("failsoft: window by time", sync_loop("b.success(b.admit(1.0), 0.1, 1.0)", b=timed))
    registry = BreakerRegistry(BreakerSite(Breaker(), rng=RNG))
    registry.get("k7", 0.0)
    keyed = "b = r.get('k7', 1.0); b.success(b.admit(1.0), 0.1, 1.0)"
    suite.add("failsoft: by key", sync_loop(keyed, r=registry))
    if has("pybreaker"):
        import pybreaker

        suite.add("pybreaker: call(nop)", sync_loop("pb.call(nop)", pb=pybreaker.CircuitBreaker()))
    if has("purgatory"):
        import purgatory

        breaker = purgatory.SyncCircuitBreakerFactory().get_breaker("k")
        suite.add("purgatory: with", sync_loop("with ps:\n  pass", ps=breaker))
    return suite


def rejecting() -> Suite:
    """One refusal of an open breaker."""
    suite = Suite("rejection while open", "circuitbreaker: with")
    if has("circuitbreaker"):
        import circuitbreaker

        peer = circuitbreaker.CircuitBreaker(failure_threshold=1, recovery_timeout=10**6)
        stmt = "try:\n  cb.call(fail)\nexcept Exception:\n  pass"
        names = {"cb": peer, "fail": lambda: 1 / 0}
        suite.add("circuitbreaker: with", sync_loop(stmt, **names))
    mine = Breaker().start(rng=RNG)
    mine.open(0.0, for_s=10**9)
    suite.add("failsoft: admit", sync_loop("b.admit(1.0)", b=mine))
    suite.add("failsoft: admit, retry_after", sync_loop("b.admit(1.0) or b.retry_after(1.0)", b=mine))
    if has("pybreaker"):
        import pybreaker

        stmt = "try:\n  pb.call(fail)\nexcept Exception:\n  pass"
        peer = pybreaker.CircuitBreaker(fail_max=1, reset_timeout=10**6)
        suite.add("pybreaker: call", sync_loop(stmt, pb=peer, fail=lambda: 1 / 0))
    return suite


def rates() -> Suite:
    """One call that a rate lets go."""
    suite = Suite("rate decision", "aiolimiter: acquire")
    if has("aiolimiter"):
        import aiolimiter

        limiter = aiolimiter.AsyncLimiter(10**9, 1)
        suite.add("aiolimiter: acquire", async_loop(limiter.acquire))
    suite.add("failsoft: decide", sync_loop("r.decide(1.0)", r=Rate(10**9, 1).start()))
    if has("limits"):
        from limits import RateLimitItemPerSecond, storage, strategies

        item = RateLimitItemPerSecond(10**9)
        for kind in ("FixedWindowRateLimiter", "SlidingWindowCounterRateLimiter"):
            peer = getattr(strategies, kind)(storage.MemoryStorage())
            suite.add(f"limits: {kind}", sync_loop("s.hit(i, 'k')", s=peer, i=item))
    return suite


def stacks() -> Suite:
    """A call that succeeds: a wrapper of retries alone, and everything at once."""
    suite = Suite("success through retry or the whole stack", "tenacity: retry")
    if has("tenacity"):
        import tenacity

        again = tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_random_exponential())
        suite.add("tenacity: retry", sync_loop("f()", f=again(nop)))
    budget, breaker = RetryBudget().start(), quiet()
    suite.add("failsoft: retry budget's deposit and nop", sync_loop("d.deposit(1.0); nop()", d=budget))
    whole = "d.deposit(1.0); p = b.admit(1.0); r.decide(1.0); s = h.try_enter(); nop(); h.leave(s); b.success(p, 0.1, 1.0)"
    names = {"d": budget, "b": breaker, "r": Rate(10**9, 1).start(), "h": Bulkhead(4).start()}
    suite.add("failsoft: budget, breaker, rate, bulkhead and nop", sync_loop(whole, **names))
    defaults = "d.deposit(1.0); p = b.admit(1.0); nop(); b.success(p, 0.1, 1.0)"
    suite.add("failsoft: the defaults (budget, breaker) and nop", sync_loop(defaults, **names))
    if has("stamina"):
        import stamina

        suite.add("stamina: retry", sync_loop("f()", f=stamina.retry(on=ValueError)(nop)))
    if has("tenacity") and has("circuitbreaker"):
        import circuitbreaker

        both = again(circuitbreaker.CircuitBreaker().decorate(nop))
        suite.add("tenacity(circuitbreaker(nop))", sync_loop("f()", f=both))
    return suite


def fill(library: str) -> tuple[Any, int]:
    """100,000 breakers of a library, and how many bytes they take; the keys themselves are not counted."""
    names = [f"tool:{i}" for i in range(KEYS)]
    store: Any = {}
    make: Callable[[str], Any] = str
    if library == "circuitbreaker":
        import circuitbreaker

        make = lambda key: circuitbreaker.CircuitBreaker(name=key)  # noqa: E731
    elif library == "pybreaker":
        import pybreaker

        make = lambda key: pybreaker.CircuitBreaker(name=key)  # noqa: E731
    elif library == "purgatory":
        import purgatory

        make = purgatory.SyncCircuitBreakerFactory().get_breaker
    mine = library.startswith("failsoft")
    if mine:
        options = Breaker(window=100, max_keys=KEYS, hard_failures=None, slow_s=1, min_calls=100)
        store = BreakerRegistry(BreakerSite(options, rng=RNG))
    gc.collect()
    tracemalloc.start()
    for name in names:
        if mine:
            breaker = store.get(name, 0.0)
            for i in range(100 if "full" in library else 0):
                # The window at its largest: the oldest call failed slowly, so both numbers have a hundred bits.
                permit = breaker.admit(0.0)
                breaker.failure(permit, 0.0, False, 2.0) if i % 3 == 0 else breaker.success(permit, 0.1, 0.0)
        else:
            store[name] = make(name)
    return store, tracemalloc.get_traced_memory()[0] // KEYS


def memory() -> list[dict[str, Any]]:
    """Bytes a key, one library a process."""
    rows = []
    for library in (
        "failsoft, fresh",
        "failsoft, window of 100 full",
        "circuitbreaker",
        "pybreaker",
        "purgatory",
    ):
        if not library.startswith("failsoft") and not has(library):
            continue
        said = subprocess.run(
            [sys.executable, "-m", "bench.policies", "--memory-of", library],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
        )
        if said.returncode == 0:
            rows.append({"table": f"memory, {KEYS:,} keys", "case": library, "bytes": int(said.stdout)})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print the tables."""
    for title, group in itertools.groupby(rows, key=lambda row: row["table"]):
        table = list(group)
        print(f"\n{title}" + (f" (ratio to {table[0]['floor']})" if "floor" in table[0] else ""))
        for row in table:
            figure = (
                f"{row['bytes']:>8} B" if "bytes" in row else f"{row['ns']:>9.1f} ns {row['ratio']:>8.3f}"
            )
            bar = "" if "bytes" in row else "  " + "#" * min(60, max(1, round(row["ratio"] * 10)))
            print(f"  {row['case']:<52}{figure}{bar}")


def main() -> None:
    """Run everything, print it, and store it where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, help="store figures and machine here")
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        print(fill(options.memory_of)[1])
        return
    growing = growth()
    suites = [closed(), rejecting(), rates(), stacks(), *growing]
    rows = [row for suite in suites for row in suite.run(options.rounds)]
    curves = curves_of(rows, growing)
    rows += [] if options.skip_memory else memory()
    show(rows)
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "peers": {name: importlib.metadata.version(name) for name in PEERS if has(name)},
    }
    if options.json:
        options.json.write_text(
            json.dumps({"machine": machine, "rows": rows, "curves": curves}, indent=1) + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
