"""Work that must not grow with the number of calls or keys, counted and not timed."""

import random

from failsoft.policies import Breaker, BreakerRegistry, BreakerSite, Bulkhead
from failsoft.policies.bulkhead import QUEUED


class Waiter:
    """Somebody in the queue, who counts how often any of them is compared with another one."""

    asked = 0

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        Waiter.asked += 1
        return self is other


def test_a_waiter_gives_up_without_a_look_at_the_others() -> None:
    """Ten thousand calls that time out at once do not search the queue ten thousand times, and all find out."""
    state = Bulkhead(1, queue=10_000).start()
    slot = state.try_enter()
    waiters = [Waiter() for _ in range(10_000)]
    assert {state.enqueue(waiter) for waiter in waiters} == {QUEUED}
    Waiter.asked = 0
    for waiter in reversed(waiters[1:]):
        assert state.cancel(waiter) is None
    assert Waiter.asked < 100
    assert state.stats().queued == 1
    assert slot is not None
    assert state.leave(slot) is waiters[0], "whoever stayed is the next"


def test_a_new_key_looks_at_a_few_breakers_only() -> None:
    """Among ten thousand breakers that were all just used, room for a new one is made with eight looks at most."""
    registry = BreakerRegistry(BreakerSite(Breaker(max_keys=10_000), rng=random.Random(1)))
    for number in range(10_000):
        registry.get(f"k{number}", 0.0)
        registry.get(f"k{number}", 0.0)
    before = list(registry._order)
    registry.get("new", 0.0)
    after = list(registry._order)
    assert len(registry) == 10_000
    assert after[: len(before) - 8] == before[8:], "only the first eight were moved or dropped"
