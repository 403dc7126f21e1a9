"""Presets: the values that their descriptions promise, and what a harness makes of them."""

from collections.abc import Callable
from typing import Any

import pytest

from failsoft.core.annotations import Standing
from failsoft.policies import Breaker, Bulkhead, EffectivePolicy, Policy, Retry, Timeout, presets, resolve

ALL = (presets.lookup, presets.payment, presets.slow_report, presets.llm)
Preset = Callable[..., Policy]


def holds(preset: Preset, **parts: Any) -> EffectivePolicy:
    """What holds for a tool with this preset."""
    return resolve(tool=preset(**parts), standing=Standing.REPEATABLE)


@pytest.mark.parametrize(
    ("preset", "attempt_s", "total_s"),
    [
        (presets.lookup, 5, 15),
        (presets.payment, 60, 90),
        (presets.slow_report, 300, 660),
        (presets.llm, 60, 180),
    ],
)
def test_times(preset: Preset, attempt_s: float, total_s: float) -> None:
    """An attempt and the whole call last as long as the description says."""
    assert holds(preset).timeout == Timeout(attempt_s=attempt_s, total_s=total_s)


@pytest.mark.parametrize(
    ("preset", "retry"),
    [
        (presets.lookup, Retry(max_attempts=3, base_s=0.2, cap_s=2)),
        (presets.payment, Retry(max_attempts=2, base_s=1)),
        (presets.slow_report, Retry(max_attempts=2, base_s=5, cap_s=30)),
        (
            presets.llm,
            Retry(max_attempts=4, base_s=1, cap_s=20, per_kind={"rate_limited": {"base_s": 2, "cap_s": 60}}),
        ),
    ],
)
def test_attempts(preset: Preset, retry: Retry) -> None:
    """As many attempts as the description says, with waits that suit such a tool."""
    assert holds(preset).retry == retry


def test_a_model_is_given_time_after_a_rate_limit() -> None:
    """A rate-limited model is waited for from two seconds up to a minute; other failures from one up to twenty."""
    retry = holds(presets.llm).retry
    assert retry is not None
    limited, other = retry.of_kind("rate_limited"), retry.of_kind("unavailable")
    assert (limited.base_s, limited.cap_s, limited.max_attempts) == (2, 60, 4)
    assert (other.base_s, other.cap_s) == (1, 20)


@pytest.mark.parametrize(
    ("preset", "breaker"),
    [
        (presets.lookup, Breaker(slow_s=4)),
        (presets.payment, Breaker(hard_failures=3, open_s=60)),
        (presets.slow_report, Breaker(hard_failures=3, open_s=120)),
        (presets.llm, Breaker(window=30)),
    ],
)
def test_breakers(preset: Preset, breaker: Breaker) -> None:
    """Slow lookups count, dear calls stop after three hard failures, and a model's window is a little longer."""
    assert holds(preset).breaker == breaker


def test_what_a_preset_turns_off_or_adds() -> None:
    """A payment has no fallback, a report two bodies and four waiting, a model's answer is not cut; no more."""
    assert holds(presets.payment).fallback is None
    assert holds(presets.slow_report).bulkhead == Bulkhead(2, queue=4)
    assert holds(presets.llm).output is None
    said = {preset.__name__: set(preset().said) - {"timeout", "retry", "breaker"} for preset in ALL}
    assert said == {"lookup": set(), "payment": {"fallback"}, "slow_report": {"bulkhead"}, "llm": {"output"}}


def test_a_payment_stays_off_a_harness_fallback() -> None:
    """A harness that falls back by default does not do so for a payment: the preset says off, not nothing."""
    harness = Policy(fallback="other_tool")
    assert resolve(harness=harness, tool=presets.payment()).fallback is None
    assert resolve(harness=harness, tool=presets.lookup()).fallback is not None


@pytest.mark.parametrize("preset", ALL)
def test_parts_that_are_given_replace_the_presets(preset: Preset) -> None:
    """What is given by keyword wins over the preset's, the rest stays, and the origin is named."""
    effective = holds(preset, timeout=7, breaker=None)
    assert effective.timeout == Timeout(attempt_s=7)
    assert effective.breaker is None
    assert effective.retry == holds(preset).retry
    assert effective.origin["retry"] == effective.origin["timeout"] == f"preset {preset.__name__}"
