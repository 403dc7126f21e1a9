"""Whether a decision grows with the size of what it decides about: windows, keys, calls inside, calls waiting.

Each suite's floor is its smallest size, so a ratio of 1 is a decision that does not grow.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

from bench.in_turns import RNG, Suite, sync_loop
from failsoft.policies import Breaker, BreakerRegistry, BreakerSite, BreakerState, Bulkhead

__all__ = ["curves_of", "growth", "quiet"]

SIZES, KEYS = (10, 100, 1_000, 10_000), 100_000
TURNS = ("keys in turn", "keys in turn, a plain dict")


def quiet(window: int = 100, **options: Any) -> BreakerState:
    """A closed breaker whose window is full of good calls."""
    breaker = Breaker(window=window, **options).start(rng=RNG)
    for _ in range(window):
        breaker.success(breaker.admit(0.0), 0.1, 0.0)
    return breaker


def growth() -> list[Suite]:
    """The same decision over more and more of something; the floor is the least of it, and none should grow."""
    return [*windows(), *keys(), *bulkheads()]


def windows() -> list[Suite]:
    """A closed breaker over larger windows."""
    calm = Suite("closed decision by size of the window", "window 10")
    busy = Suite("a slow and a good call by size of the window", "window 10")
    for size in SIZES:
        calm.add(f"window {size}", sync_loop("b.success(b.admit(1.0), 0.1, 1.0)", b=quiet(size)))
        state = Breaker(window=size, slow_s=1.0, hard_failures=None).start(rng=RNG)
        stmt = "b.success(b.admit(1.0), 2.0, 1.0); b.success(b.admit(1.0), 0.1, 1.0)"
        busy.add(f"window {size}", sync_loop(stmt, b=state))
    return [calm, busy]


def keys() -> list[Suite]:
    """A breaker by key: one key again and again, all of them in turn, and new ones that make others go.

    Keys in turn are beside a plain dict: what the processor's caches cannot hold comes from memory, whoever asks.
    """
    same = Suite("decision by number of keys", "keys 1")
    turns = Suite("keys in turn", "keys 1")
    plain = Suite("keys in turn, a plain dict", "keys 1")
    new = Suite("a new key makes room", "keys 1")
    for size in (1, *SIZES, KEYS):
        registry = BreakerRegistry(BreakerSite(Breaker(max_keys=size), rng=RNG))
        names = [f"k{i}" for i in range(size)]
        for name in names:
            registry.get(name, 0.0)
        same.add(f"keys {size}", sync_loop("r.get('k0', 1.0).admit(1.0)", r=registry))
        order = itertools.cycle(random.Random(1).sample(names, size))
        turns.add(f"keys {size}", sync_loop("r.get(next(o), 1.0).admit(1.0)", r=registry, o=order))
        table = {name: Breaker().start(rng=RNG) for name in names}
        order = itertools.cycle(random.Random(1).sample(names, size))
        plain.add(f"keys {size}", sync_loop("d[next(o)].generation", d=table, o=order))
        full = BreakerRegistry(BreakerSite(Breaker(max_keys=size), rng=RNG))
        for name in names:
            full.get(name, 0.0)
        fresh = map("n{}".format, itertools.count())
        new.add(f"keys {size}", sync_loop("r.get(next(f), 1.0).admit(1.0)", r=full, f=fresh))
    return [same, turns, plain, new]


def bulkheads() -> list[Suite]:
    """A bulkhead with more and more calls inside, or waiting."""
    enter = Suite("enter and leave a bulkhead, calls inside", "calls 1")
    passed = Suite("pass a slot on, calls waiting", "calls 1")
    gone = Suite("give up waiting, calls waiting", "calls 1")
    for size in (1, *SIZES):
        roomy = Bulkhead(size + 1).start()
        for _ in range(size):
            roomy.try_enter()
        enter.add(f"calls {size}", sync_loop("h.leave(h.try_enter())", h=roomy))
        full = Bulkhead(1, queue=size + 1).start()
        slot = [full.try_enter()]
        for waiter in range(size):
            full.enqueue(waiter)
        stmt = "w = h.leave(s[0]); s[0] = h.claim(w); h.enqueue(w)"
        passed.add(f"calls {size}", sync_loop(stmt, h=full, s=slot))
        gone.add(f"calls {size}", sync_loop("h.enqueue(-1); h.cancel(-1)", h=full))
    return [enter, passed, gone]


def curves_of(rows: list[dict[str, Any]], suites: list[Suite]) -> list[dict[str, Any]]:
    """The suites of `growth` as lines: windows, then keys and calls, as ratios; and keys in turn in nanoseconds."""
    titles = [suite.title for suite in suites]
    windows = [suite.title for suite in suites if suite.floor.startswith("window")]
    rest = [title for title in titles if title not in windows and title not in TURNS]
    ratio = ("ratio", "times the smallest size")
    return [
        _chart("Decision time by size of the window", windows, rows, "calls in the window", *ratio),
        _chart("Decision time by number of keys or calls", rest, rows, "keys, or calls", *ratio),
        _chart("Breakers asked for in turn", list(TURNS), rows, "keys", "ns", "nanoseconds"),
    ]


def _chart(
    title: str, tables: list[str], rows: list[dict[str, Any]], x: str, field: str, y: str
) -> dict[str, Any]:
    lines = {
        table: [(int(row["case"].split()[-1]), row[field]) for row in rows if row["table"] == table]
        for table in tables
    }
    return {
        "title": title,
        "tables": tables,
        "x": f"{x}, logarithmic",
        "y": y,
        "is_log": True,
        "lines": lines,
    }
