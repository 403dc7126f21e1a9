"""Memory and a server answer any row of steps alike."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from failsoft.stores.fleet.memory import MemoryFleet
from failsoft.stores.fleet.port import SharedBreaker, Wish
from failsoft.stores.fleet.redis import RedisFleet

numbers = itertools.count()
STEP = st.tuples(
    st.sampled_from(["open", "lease", "close", "give_back"]),
    st.sampled_from(["a", "b", "c"]),
    # What the process has seen last: nothing, or the answer so many steps ago.
    st.one_of(st.none(), st.integers(0, 3)),
    # Over at once, or not within this test: the clocks are real.
    st.sampled_from([0.0, 100.0]),
    st.integers(0, 4),
)


async def answers(store: Any, steps: list[Any]) -> list[SharedBreaker]:
    """What a store says to each step."""
    found: list[SharedBreaker] = []
    for op, owner, back, span_s, opened in steps:
        known = back is not None and back < len(found)
        seen = found[-1 - back].generation if known else 0
        wish = Wish(member="m", owner=owner, seen=seen, span_s=span_s, opened=opened, reason=f"{op} {owner}")
        found.append(await getattr(store, op)(wish))
    return found


def told(answer: SharedBreaker, generations: list[int]) -> tuple[Any, ...]:
    """An answer without the clock: its generation as a number of its row."""
    runs = answer.left_s > 50
    number = generations.index(answer.generation)
    return (answer.state, number, runs, answer.opened, answer.owner, answer.reason, answer.granted)


def row(found: list[SharedBreaker]) -> list[tuple[Any, ...]]:
    """All answers, comparable between stores."""
    generations = sorted({answer.generation for answer in found})
    return [told(answer, generations) for answer in found]


@pytest.mark.server
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=1, max_size=12))
def test_a_server_decides_as_memory_does(either_server: Any, steps: list[Any]) -> None:
    """Whatever is asked in whatever order, the script and the Python say the same."""

    async def both() -> tuple[list[SharedBreaker], list[SharedBreaker]]:
        store = RedisFleet(either_server.url, name=f"same{next(numbers)}", timeout_s=5)
        try:
            return await answers(MemoryFleet(), steps), await answers(store, steps)
        finally:
            await store.aclose()

    memory, server = asyncio.run(both())
    assert row(memory) == row(server)


@given(steps=st.lists(STEP, max_size=15))
def test_what_always_holds(steps: list[Any]) -> None:
    """Generations never go back, a closed breaker has no openings, and a running lease is one owner's until it moves."""
    before: SharedBreaker | None = None
    for answer, (op, owner, *_) in zip(asyncio.run(answers(MemoryFleet(), steps)), steps, strict=True):
        if before is not None:
            assert answer.generation >= before.generation
            assert answer.granted == (answer.generation > before.generation)
            if before.state == "half_open" and before.left_s > 0 and before.owner != owner and answer.granted:
                # Only news of the lease itself, which the process must have seen, can overrule it.
                assert op == "close"
            if before.state == "open" and before.left_s > 0:
                assert op == "close" or not answer.granted
        if answer.state == "closed":
            assert (answer.opened, answer.left_s) == (0, 0)
        before = answer
