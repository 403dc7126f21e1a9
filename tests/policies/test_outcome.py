"""What a breaker hears of a failure."""

import random
from typing import Any

import pytest

from failsoft.core.errors import AgentError, make_error
from failsoft.core.kinds import KIND_DEFAULTS
from failsoft.policies import Breaker, outcome_of

EXPECTED = {
    "invalid_argument": "ignored",
    "unknown_tool": "ignored",
    "not_found": "ignored",
    "conflict": "ignored",
    "permission_denied": "ignored",
    "quota_exhausted": "failure",
    "rate_limited": "failure",
    "overloaded": "ignored",
    "unavailable": "hard",
    "network": "hard",
    "timeout": "hard",
    "circuit_open": "ignored",
    "invalid_output": "failure",
    "model_error": "ignored",
    "internal": "failure",
    "budget_exhausted": "ignored",
    "in_doubt": "ignored",
    "cancelled": "ignored",
    "unknown": "failure",
}


def test_every_kind_has_its_outcome() -> None:
    """Every known kind is told apart, and none is forgotten."""
    assert {kind: outcome_of(make_error(kind)) for kind in KIND_DEFAULTS} == EXPECTED
    assert outcome_of(None) == "success"


@pytest.mark.parametrize(
    ("kind", "fields", "outcome"),
    [
        ("rate_limited", {"domain": "runtime"}, "ignored"),
        ("rate_limited", {"domain": "model"}, "failure"),
        ("overloaded", {"domain": "tool"}, "failure"),
        ("timeout", {"reason": "queue_timeout"}, "ignored"),
        ("timeout", {"reason": "not_started"}, "ignored"),
        ("model_error", {"retryable": True}, "failure"),
        ("my_kind", {"retryable": True, "effect": "none"}, "failure"),
        ("my_kind", {"effect": "none"}, "ignored"),
        ("my_kind", {}, "failure"),
    ],
)
def test_where_it_came_from_matters(kind: str, fields: dict[str, Any], outcome: str) -> None:
    """Local refusals are ignored, the same kinds from the world count; unknown kinds go by their fields."""
    assert outcome_of(AgentError(kind, **fields)) == outcome


def test_bad_requests_do_not_open_and_failures_do() -> None:
    """Four bad requests, a cancel and bad arguments leave it closed; three times unavailable opens it."""
    breaker = Breaker(hard_failures=3, open_s=60).start(rng=random.Random(1))
    kinds = ["invalid_argument"] * 4 + ["cancelled", "invalid_argument"] + ["unavailable"] * 3
    states = []
    for kind in kinds:
        permit = breaker.admit(0)
        said = outcome_of(make_error(kind))
        if said == "ignored":
            breaker.ignore(permit)
        else:
            breaker.failure(permit, 0, said == "hard")
        states.append(breaker.state)
    assert states == ["closed"] * 8 + ["open"]
    assert breaker.admit(1) == 0
