"""What is simulated, with which policies, and what came of it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from failsoft.core.errors import UsageError
from failsoft.policies import DEFAULTS, Breaker, Retry, RetryBudget

__all__ = ["STRATEGIES", "Storm", "StormRun", "Strategy", "run_storm"]

_WINDOW_S = 10
_RECOVERED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How clients behave.

    Args:
        name: For people.
        retry: How often and how far apart.
        budget: What retries may add to the load, for each process.
        breaker: When a process stops calling.
    """

    name: str
    retry: Retry
    budget: RetryBudget | None = None
    breaker: Breaker | None = None


def _default(name: str, kind: type[Any]) -> Any:
    value = getattr(DEFAULTS, name)
    assert isinstance(value, kind), f"the defaults have no {name}"
    return value


_RETRY: Retry = _default("retry", Retry)
_BUDGET: RetryBudget = _default("retry_budget", RetryBudget)
_BREAKER: Breaker = _default("breaker", Breaker)
_ATTEMPTS = _RETRY.max_attempts

STRATEGIES: tuple[Strategy, ...] = (
    Strategy(name="no retry", retry=Retry(max_attempts=1)),
    Strategy(
        name="naive retry", retry=Retry(max_attempts=_ATTEMPTS, backoff="fixed", base_s=0.0, jitter="none")
    ),
    Strategy(name="backoff", retry=Retry(max_attempts=_ATTEMPTS, jitter="none")),
    Strategy(name="+ jitter", retry=_RETRY),
    Strategy(name="+ budget", retry=_RETRY, budget=_BUDGET),
    Strategy(name="+ breaker", retry=_RETRY, budget=_BUDGET, breaker=_BREAKER),
)
"""From nothing to the runtime's defaults; each one from `+ jitter` on adds one policy to the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What is simulated.

    Args:
        clients: Clients; each makes a call, thinks for a while, makes the next.
        minutes: Simulated minutes.
        seed: The same seed gives the same run.
        clients_per_process: Clients that share a budget and a breaker.
        load: Share of the capacity that the clients need when nothing fails.
        capacity_per_s: Requests that the service can serve in a second; default one for each 20 clients.
        queue_s: Length of the service's queue, in seconds of work.
        timeout_s: How long a client waits for an attempt.
        outage_at: When the outage begins, as a share of the whole time.
        outage_s: How long it lasts; default a tenth of the whole time.

    Raises:
        UsageError: A value cannot work.
    """

    clients: int = 10_000
    minutes: float = 10.0
    seed: int = 1
    clients_per_process: int = 100
    load: float = 0.7
    capacity_per_s: float | None = None
    queue_s: float = 4.0
    timeout_s: float = 1.0
    outage_at: float = 0.2
    outage_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("clients", "minutes", "clients_per_process", "load", "queue_s", "timeout_s"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be more than 0, got {getattr(self, name)!r}")
        if self.load >= 1:
            raise UsageError(
                f"load must be below 1: a service that is always too small has no outage, got {self.load!r}"
            )
        if self.seconds < 60:
            raise UsageError(f"minutes must be at least 1, or there is nothing to see, got {self.minutes!r}")
        if not (0 < self.outage_at < 1 and self.down_until_s < self.seconds):
            raise UsageError("the outage must begin and end within the simulated time")

    @property
    def seconds(self) -> int:
        """The whole time."""
        return round(self.minutes * 60)

    @property
    def capacity(self) -> float:
        """Requests that the service can serve in a second."""
        return self.capacity_per_s or self.clients / 20

    @property
    def down_from_s(self) -> float:
        """When the outage begins."""
        return self.seconds * self.outage_at

    @property
    def down_until_s(self) -> float:
        """When it is over."""
        return self.down_from_s + (self.seconds / 10 if self.outage_s is None else self.outage_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class StormRun:
    """What came of one strategy.

    Args:
        strategy: Its name.
        calls: Calls that the clients wanted.
        attempts: Requests that were sent for them.
        succeeded: Calls that got an answer in time.
        refused: Calls that a breaker ended.
        offered: Requests in each second.
        wanted: New calls in each second.
        good: Answers in time in each second.
        peak_load: Most requests in ten seconds, as a multiple of the capacity.
        peak_amplification: Most requests for a call, over ten seconds.
        recovery_s: Seconds from the end of the outage until calls succeed as before it; None for never.
        took_s: Real seconds of the simulation.
    """

    strategy: str
    calls: int
    attempts: int
    succeeded: int
    refused: int
    peak_load: float
    peak_amplification: float
    recovery_s: int | None
    took_s: float
    offered: list[int] = field(repr=False)
    wanted: list[int] = field(repr=False)
    good: list[int] = field(repr=False)

    @property
    def amplification(self) -> float:
        """Requests for a call, over the whole time."""
        return self.attempts / self.calls if self.calls else 0.0

    @property
    def success_rate(self) -> float:
        """Share of the calls that got an answer in time."""
        return self.succeeded / self.calls if self.calls else 0.0

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {**asdict(self), "amplification": self.amplification, "success_rate": self.success_rate}


def run_storm(storm: Storm, strategy: Strategy) -> StormRun:
    """Simulate one strategy."""
    from failsoft.lab.storm.crowd import Crowd

    began = time.perf_counter()
    crowd = Crowd(storm, strategy)
    crowd.run()
    offered, wanted, good = crowd.offered, crowd.wanted, crowd.good
    loads, calls = _windows(offered), _windows(wanted)
    return StormRun(
        strategy=strategy.name,
        calls=sum(wanted),
        attempts=sum(offered),
        succeeded=sum(good),
        refused=crowd.refused,
        peak_load=max(loads) / _WINDOW_S / storm.capacity,
        peak_amplification=max(load / call for load, call in zip(loads, calls, strict=True) if call),
        recovery_s=_recovery(storm, good),
        took_s=time.perf_counter() - began,
        offered=offered,
        wanted=wanted,
        good=good,
    )


def _windows(series: list[int]) -> list[int]:
    """Sums over each ten seconds, beginning at each second."""
    return [sum(series[i : i + _WINDOW_S]) for i in range(len(series) - _WINDOW_S + 1)]


def _recovery(storm: Storm, good: list[int]) -> int | None:
    """When ten seconds were as good as those before the outage. The first tenth of the time is the clients' warming up."""
    first, last = round(storm.down_from_s / 2), int(storm.down_from_s)
    before = sum(good[first:last]) / (last - first)
    ended = round(storm.down_until_s)
    for second in range(ended, len(good) - _WINDOW_S + 1):
        if sum(good[second : second + _WINDOW_S]) >= _RECOVERED * before * _WINDOW_S:
            return second - ended
    return None
