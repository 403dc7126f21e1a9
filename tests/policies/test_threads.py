"""Shared state under real threads that are switched as often as the interpreter can."""

import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from failsoft.policies import Breaker, BreakerRegistry, BreakerSite, Bulkhead, Rate, RetryBudget, withdraw_all

THREADS = 4


@pytest.fixture(autouse=True)
def eager_switching() -> Iterator[None]:
    """Let threads be switched a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], None]) -> None:
    """Run `work(number)` in some threads that start at the same moment."""
    gate, errors = threading.Barrier(THREADS), []

    def body(number: int) -> None:
        gate.wait()
        try:
            work(number)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize(("window_s", "calls"), [(None, 2_000), (1000.0, 10_000)])
def test_no_outcome_is_lost_in_the_window(window_s: float | None, calls: int) -> None:
    """Every outcome that was counted stands in the window, by calls or by time."""
    options = Breaker(window=10_000, min_calls=10**6, hard_failures=None, window_s=window_s)
    breaker = options.start(rng=random.Random(1))
    breaker.site.min_calls = 10**6
    counted = [0] * THREADS

    def work(number: int) -> None:
        for i in range(calls):
            permit = breaker.admit(0.0)
            if i % 10 == number:
                counted[number] += breaker.failure(permit, 0.0)
            else:
                breaker.success(permit, 0.1, 0.0)

    together(work)
    stats = breaker.stats(0.0)
    assert stats.failed == sum(counted) == THREADS * calls // 10
    assert stats.calls == THREADS * calls


def test_a_failure_beside_quiet_successes_is_kept() -> None:
    """In a full quiet window, where successes take no lock, each failure moves it out of its quiet."""
    for _ in range(30):
        breaker = Breaker(window=50, hard_failures=None).start(rng=random.Random(1))
        for _ in range(50):
            breaker.success(breaker.admit(0.0), 0.1, 0.0)

        def work(number: int, breaker: object = breaker) -> None:
            for _ in range(20):
                if number == 0:
                    breaker.failure(breaker.admit(0.0), 0.0)  # type: ignore[attr-defined]
                    break
                breaker.success(breaker.admit(0.0), 0.1, 0.0)  # type: ignore[attr-defined]

        together(work)
        stats = breaker.stats(0.0)
        assert (stats.calls, stats.failed <= 1) == (50, True)


def test_one_probe_whoever_asks() -> None:
    """However many threads ask at once, one at a time holds the probe, and each opening is told once."""
    changes = []
    breaker = Breaker(hard_failures=1, open_s=1, jitter=0, max_open_s=1).start(
        rng=random.Random(1), listener=changes.append, lease_s=10**6
    )
    breaker.failure(breaker.admit(0.0), 0.0)
    running, most, guard = [0], [0], threading.Lock()

    def work(number: int) -> None:
        for i in range(1, 1500):
            permit = breaker.admit(float(i))
            if permit:
                with guard:
                    running[0] += 1
                    most[0] = max(most[0], running[0])
                with guard:
                    running[0] -= 1
                breaker.ignore(permit) if i % 3 else breaker.failure(permit, float(i))

    together(work)
    assert most[0] == 1
    openings = [change.generation for change in changes if change.after == "open"]
    assert len(openings) == len(set(openings))


def test_no_deposit_is_lost() -> None:
    """Deposits without a lock are all there, beside withdrawals that gather them."""
    state = RetryBudget(ratio=1.0, min_retries=0, window_s=1000).start()
    granted = [0] * THREADS

    def work(number: int) -> None:
        for i in range(20_000):
            state.deposit(i / 100)
            if i % 50 == 0:
                granted[number] += state.withdraw(i / 100)

    together(work)
    stats = state.stats(500.0)
    assert stats.calls == THREADS * 20_000
    assert stats.retries == sum(granted)


def test_slots_are_never_given_twice() -> None:
    """Never more inside than the limit, and in the end all slots are free."""
    state = Bulkhead(2, queue=3).start()
    inside, most, guard = [0], [0], threading.Lock()

    def hold(permit: int) -> None:
        with guard:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        with guard:
            inside[0] -= 1
        waiter = state.leave(permit)
        while isinstance(waiter, tuple):
            given = state.claim(waiter)
            assert given is not None
            waiter = state.leave(given)

    def work(number: int) -> None:
        for i in range(1000):
            permit = state.try_enter() or state.enqueue((number, i))
            if permit and permit > 0:
                hold(permit)

    together(work)
    assert most[0] <= 2
    assert (state.stats().running, state.stats().queued) == (0, 0)


def test_turns_are_counted_once() -> None:
    """Four threads asking at one moment get exactly the burst."""
    state = Rate(1000, 1).start()
    went = [0] * THREADS

    def work(number: int) -> None:
        for _ in range(1000):
            went[number] += state.decide(5.0) == 0

    together(work)
    assert sum(went) == 1000
    assert state.stats(5.0).admitted == 1000


def test_one_breaker_a_key_whoever_asks_first() -> None:
    """Threads that ask for a new key at once get the same breaker."""
    registry = BreakerRegistry(BreakerSite(Breaker(), rng=random.Random(1)))
    seen: list[dict[str, object]] = [{} for _ in range(THREADS)]

    def work(number: int) -> None:
        for i in range(500):
            seen[number][f"k{i}"] = registry.get(f"k{i}", 0.0)

    together(work)
    assert all(found == seen[0] for found in seen)


def test_budgets_are_taken_together_or_not_at_all() -> None:
    """A retry that the run's budget refuses costs the tool's budget nothing."""
    tool, run = RetryBudget(min_retries=5).start(), RetryBudget(min_retries=1).start()
    assert withdraw_all((tool, run), 0.0)
    assert not withdraw_all((tool, run), 0.0)
    assert tool.stats(0.0).retries == 1
    assert run.stats(0.0).refused == 1
    assert withdraw_all((), 0.0)
