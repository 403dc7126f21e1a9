"""Policies for common sorts of tools, to use as they are or as a start: `payment().over(...)`, `lookup(timeout=3)`."""

from __future__ import annotations

from typing import Any

from failsoft.policies.breaker import Breaker
from failsoft.policies.bulkhead import Bulkhead
from failsoft.policies.policy import Policy
from failsoft.policies.retry import Retry
from failsoft.policies.timeout import Timeout

__all__ = ["llm", "lookup", "payment", "slow_report"]


def lookup(**parts: Any) -> Policy:
    """A quick read: 5 s an attempt, 15 s in all, three attempts close together, slow answers count against it."""
    return _preset(
        "lookup",
        parts,
        timeout=Timeout(attempt_s=5, total_s=15),
        retry=Retry(base_s=0.2, cap_s=2),
        breaker=Breaker(slow_s=4),
    )


def payment(**parts: Any) -> Policy:
    """Something that must not happen twice: no early end, two attempts (the second only after a proof that nothing
    happened), no fallback; its breaker opens after three hard failures and stays open for a minute.
    """
    return _preset(
        "payment",
        parts,
        timeout=Timeout(attempt_s=60, total_s=90),
        retry=Retry(max_attempts=2, base_s=1),
        breaker=Breaker(hard_failures=3, open_s=60),
        fallback=None,
    )


def slow_report(**parts: Any) -> Policy:
    """Minutes of work: 5 min an attempt, 11 min in all, two attempts, two at once and four waiting."""
    return _preset(
        "slow_report",
        parts,
        timeout=Timeout(attempt_s=300, total_s=660),
        retry=Retry(max_attempts=2, base_s=5, cap_s=30),
        breaker=Breaker(hard_failures=3, open_s=120),
        bulkhead=Bulkhead(2, queue=4),
    )


def llm(**parts: Any) -> Policy:
    """A model's endpoint: 60 s an attempt, 3 min in all, four attempts, patient with rate limits; nothing is cut."""
    return _preset(
        "llm",
        parts,
        timeout=Timeout(attempt_s=60, total_s=180),
        retry=Retry(
            max_attempts=4, base_s=1, cap_s=20, per_kind={"rate_limited": {"base_s": 2, "cap_s": 60}}
        ),
        breaker=Breaker(window=30),
        output=None,
    )


def _preset(name: str, parts: dict[str, Any], **preset: Any) -> Policy:
    return Policy(**{**preset, **parts}, source=f"preset {name}")
