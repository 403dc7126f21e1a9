"""The defaults, in one place: what holds for a tool about which nobody has said anything."""

from __future__ import annotations

from typing import Final

from failsoft.policies.breaker import Breaker
from failsoft.policies.budget import RetryBudget
from failsoft.policies.isolation import Isolation
from failsoft.policies.output import MAX_CHARS, Output
from failsoft.policies.policy import Policy
from failsoft.policies.retry import BASE_S, CAP_S, PER_KIND, Retry
from failsoft.policies.timeout import ATTEMPT_S, GRACE_S, TOTAL_S, Timeout

__all__ = ["DEFAULTS", "table"]

DEFAULTS: Final = Policy(
    timeout=Timeout(total_s=TOTAL_S),
    retry=Retry(),
    retry_budget=RetryBudget(),
    breaker=Breaker(),
    bulkhead=None,
    rate=None,
    fallback=None,
    isolation=Isolation("auto"),
    output=Output(),
    when_open="offer",
    source="default",
)


def table() -> tuple[tuple[str, str, str], ...]:
    """The rows of the docs' table: what, the default, why."""
    retry, budget, breaker = Retry(), RetryBudget(), Breaker()
    limited = PER_KIND["rate_limited"]
    return (
        (
            "attempt, total",
            f"{ATTEMPT_S:g} s, {TOTAL_S:g} s; not repeatable: attempt = total",
            "a second attempt needs room; an early end of what cannot be repeated only makes a doubt",
        ),
        (
            "retry",
            f"{retry.max_attempts} attempts, base {BASE_S:g} s × {retry.factor:g}, cap {CAP_S:g} s, {retry.jitter} jitter;"
            f" `rate_limited` base {limited['base_s']:g} s, cap {limited['cap_s']:g} s",
            "a person waits",
        ),
        (
            "retry budget",
            f"{budget.ratio * 100:g} % of calls + {budget.min_retries} per {budget.window_s:g} s, per tool and run",
            "layers do not multiply",
        ),
        (
            "breaker",
            f"{breaker.window} calls, at least {breaker.min_calls}, {breaker.failure_rate * 100:g} % failed"
            f" or {breaker.hard_failures} hard failures in a row; open {breaker.open_s:g} s growing to"
            f" {breaker.max_open_s:g} s; {breaker.probes} probe",
            "agents call seldom",
        ),
        ("output", f"{MAX_CHARS:,} characters", "a page of text is read, a book is not"),
        ("grace", f"{GRACE_S:g} s", "a cancelled body may clean up"),
        ("bulkhead, rate, fallback", "off", "need knowledge of the tool"),
    )
