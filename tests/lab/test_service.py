"""The service of the storm: serves in order, no faster than it can, and not while it is down."""

from hypothesis import given
from hypothesis import strategies as st

from failsoft.lab.storm.service import REFUSED, Service


def make(queue: int = 1_000, down: tuple[float, float] = (1e9, 2e9)) -> Service:
    return Service(capacity_per_s=10, queue=queue, down_from_s=down[0], down_until_s=down[1])


def test_idle_it_serves_at_once() -> None:
    """A request that meets nobody takes its own time and no more."""
    service = make()
    assert service.ask(5.0) == 5.1
    assert service.ask(7.0) == 7.1


def test_full_it_refuses() -> None:
    """One is served, so many wait, the next one is refused; places come back with time."""
    service = make(queue=3)
    answers = [service.ask(0.0) for _ in range(6)]
    assert [answer != REFUSED for answer in answers] == [True] * 4 + [False] * 2
    assert service.ask(0.11) != REFUSED


@given(
    st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=60),
    st.floats(0, 20),
    st.floats(0.5, 10),
)
def test_order_pace_and_outage(gaps: list[float], begin: float, length: float) -> None:
    """Whatever comes: in order, never faster than the capacity, nothing is finished while it is down."""
    service = make(queue=20, down=(begin, begin + length))
    now, last = 0.0, 0.0
    for gap in gaps:
        now += gap
        served_at = service.ask(now)
        if served_at == REFUSED:
            continue
        assert served_at >= now + 0.1 - 1e-9
        assert served_at >= last + 0.1 - 1e-9
        assert not begin + 1e-9 < served_at < begin + length
        last = served_at
