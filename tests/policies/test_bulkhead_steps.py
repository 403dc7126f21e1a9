"""The bulkhead step by step: who is inside, who waits, who is turned away, and who comes next."""

from typing import Any

from failsoft.policies import Bulkhead
from failsoft.policies.bulkhead import FULL, QUEUED, BulkheadState


def numbers(state: BulkheadState) -> tuple[int, int, int, int]:
    """Running, queued, zombies and refused."""
    stats = state.stats()
    assert stats.limit == state.options.limit
    return stats.running, stats.queued, stats.zombies, stats.refused


def test_every_step_shows_in_the_numbers() -> None:
    """Two slots and a queue of one, from empty to full and back."""
    state = Bulkhead(2, queue=1).start()
    seen: list[Any] = [numbers(state)]
    first = state.try_enter()
    assert first is not None
    seen.append(numbers(state))
    second = state.enqueue("b")
    assert second not in (first, QUEUED, FULL)
    seen.append(numbers(state))
    assert state.try_enter() is None
    assert state.enqueue("c") == QUEUED
    seen.append(numbers(state))
    assert [state.enqueue("d"), state.enqueue("e")] == [FULL, FULL]
    seen.append(numbers(state))
    state.outlive(first)
    seen.append(numbers(state))
    assert state.claim("c") is None
    assert state.leave(first) == "c"
    seen.append(numbers(state))
    third = state.claim("c")
    assert third not in (None, first, second)
    assert state.claim("c") is None
    assert state.leave(second) is None
    seen.append(numbers(state))
    assert third is not None
    assert state.leave(third) is None
    seen.append(numbers(state))
    assert seen == [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (2, 0, 0, 0),
        (2, 1, 0, 0),
        (2, 1, 0, 2),
        (2, 1, 1, 2),
        (2, 0, 0, 2),
        (1, 0, 0, 2),
        (0, 0, 0, 2),
    ]


def test_a_plain_refusal_is_the_callers_to_count() -> None:
    """A call that did not get in at once may still queue, so only the full queue counts as a refusal."""
    state = Bulkhead(1).start()
    assert state.try_enter() is not None
    assert [state.try_enter(), state.try_enter()] == [None, None]
    assert numbers(state) == (1, 0, 0, 0)
    assert [state.enqueue("a"), state.enqueue("b"), state.enqueue("c")] == [FULL] * 3
    assert numbers(state) == (1, 0, 0, 3)


def test_a_slot_goes_down_the_row_of_those_who_gave_up() -> None:
    """Each waiter that was granted the slot and gave up hands it to the next; the last one frees it."""
    state = Bulkhead(1, queue=3).start()
    permit = state.try_enter()
    assert permit is not None
    assert [state.enqueue(waiter) for waiter in "abc"] == [QUEUED] * 3
    assert state.leave(permit) == "a"
    assert state.cancel("c") is None
    assert state.cancel("a") == "b"
    assert numbers(state) == (1, 0, 0, 0)
    assert state.cancel("b") is None
    assert numbers(state) == (0, 0, 0, 0)
    assert state.cancel("nobody") is None
    assert state.try_enter() is not None


def test_a_permit_that_was_given_back_frees_nothing_and_wakes_nobody() -> None:
    """Neither leaves it again nor becomes a zombie, while somebody else holds the slot."""
    state = Bulkhead(1, queue=2).start()
    old = state.try_enter()
    assert old is not None
    state.leave(old)
    assert state.try_enter() is not None
    state.enqueue("a")
    assert state.leave(old) is None
    state.outlive(old)
    assert numbers(state) == (1, 1, 0, 0)


def test_of_several_zombies_each_leaves_by_itself() -> None:
    """One that ends is no longer counted, the other still is."""
    state = Bulkhead(3).start()
    permits = [state.try_enter() for _ in range(3)]
    for permit in permits[:2]:
        assert permit is not None
        state.outlive(permit)
        state.outlive(permit)
    assert numbers(state) == (3, 0, 2, 0)
    assert permits[2] is not None
    state.leave(permits[2])
    assert numbers(state) == (2, 0, 2, 0)
    assert permits[0] is not None
    state.leave(permits[0])
    assert numbers(state) == (1, 0, 1, 0)


def test_a_bulkhead_shows_its_options_and_who_is_inside() -> None:
    """No queue and no longest wait unless they were said."""
    options = Bulkhead(2)
    assert (options.limit, options.queue, options.max_wait_s) == (2, 0, None)
    state = Bulkhead(2, queue=4).start()
    for waiter in "abc":
        state.enqueue(waiter)
    assert repr(state) == "BulkheadState(running=2/2, queued=1)"
    assert Bulkhead(1, max_wait_s=5).wait_limit_s(3) == 3
    assert Bulkhead(1, max_wait_s=5).wait_limit_s(5.5) == 5
