"""Layers, plain data and the defaults in detail."""

import copy
from typing import Any

import pytest

from failsoft.core.annotations import Standing
from failsoft.policies import (
    DEFAULTS,
    UNSET,
    Breaker,
    Bulkhead,
    Fallback,
    Isolation,
    Output,
    Policy,
    Rate,
    Retry,
    Timeout,
    UseValue,
    resolve,
    resolve_layers,
)
from failsoft.policies.policy import PARTS

COVERED = ["unavailable", "timeout", "rate_limited", "overloaded", "network", "internal", "circuit_open"]


def test_a_policy_of_nothing_says_nothing() -> None:
    """Every part is left to the next layer, and there is no source."""
    policy = Policy()
    assert policy.said == ()
    assert [getattr(policy, part) for part in PARTS] == [UNSET] * len(PARTS)
    assert policy.source == ""


@pytest.mark.parametrize("off", [None, False])
@pytest.mark.parametrize(
    "part", ["retry", "retry_budget", "breaker", "bulkhead", "rate", "fallback", "output"]
)
def test_every_part_but_time_and_place_can_be_off(part: str, off: Any) -> None:
    """None and False both turn a part off, and off is something said."""
    policy = Policy(**{part: off})
    assert getattr(policy, part) is None
    assert policy.said == (part,)


def test_whole_and_broken_numbers_and_words() -> None:
    """Each plain value becomes the record that it stands for."""
    assert Policy(timeout=0.5).timeout == Timeout(attempt_s=0.5)
    assert Policy(timeout=(5, 2)).timeout == Timeout(attempt_s=(5, 2))
    assert Policy(fallback=("a", "b")).fallback == Fallback(tool=("a", "b"))  # type: ignore[arg-type]
    assert Policy(retry_budget=0.5).retry_budget is not None
    assert Policy(output=7).output == Output(max_chars=7)
    assert Policy(rate="1/s").rate == Rate(1, 1)
    assert Policy(isolation="task").isolation == Isolation("task")
    assert Policy(bulkhead=3).bulkhead == Bulkhead(3)


def test_a_layer_on_top_keeps_its_own_name() -> None:
    """The upper layer's source names the sum; where it has none, the lower one's does."""
    upper, lower = Policy(retry=2, source="mine"), Policy(retry=5, output=9, source="theirs")
    both = upper.over(lower)
    assert (both.retry, both.output, both.source) == (Retry(max_attempts=2), Output(max_chars=9), "mine")
    assert Policy(retry=2).over(lower).source == "theirs"
    assert Policy(retry=None).over(lower).retry is None, "off is said, and wins"
    assert upper.over(Policy()).said == ("retry",)


def test_plain_data_without_a_place_is_said_to_come_from_the_file() -> None:
    """The default name of the place is that of the file."""
    assert Policy.from_mapping({"retry": 2}).source == "failsoft.toml"
    assert Policy.from_mapping({"retry": 2}, "other").source == "other"


def test_any_number_of_layers() -> None:
    """A later layer wins over those before it; a source wins over the layer's name; off counts as said."""
    effective = resolve_layers(
        [
            ("default", DEFAULTS),
            ("one", Policy(retry=5, output=1)),
            ("two", Policy(retry=4, breaker=None, source="file")),
            ("three", Policy(breaker=Breaker(window=30))),
        ]
    )
    assert effective.retry == Retry(max_attempts=4)
    assert effective.breaker == Breaker(window=30)
    assert {part: effective.origin[part] for part in ("retry", "breaker", "output", "rate")} == {
        "retry": "file",
        "breaker": "three",
        "output": "one",
        "rate": "default",
    }


def test_the_layers_have_their_names() -> None:
    """Parts without a source come from `default`, `harness` or `tool`."""
    bare = Policy(**{part: getattr(DEFAULTS, part) for part in PARTS})
    origin = resolve(bare, Policy(output=9), Policy(retry=2)).origin
    assert [origin[part] for part in ("breaker", "output", "retry")] == ["default", "harness", "tool"]


def test_layers_are_undeclared_unless_said() -> None:
    """Without a standing the attempt lasts as long as the total, as for any tool that is not known to be repeatable."""
    layers = [("default", DEFAULTS)]
    assert resolve_layers(layers).timeout.attempt_s == 60
    assert resolve().timeout.attempt_s == 60
    assert resolve_layers(layers, standing=Standing.REPEATABLE).timeout.attempt_s == 30
    assert resolve_layers(layers, standing=Standing.PROTECTED).timeout.attempt_s == 60


@pytest.mark.parametrize(
    ("parts", "lease_s"),
    [
        ({}, 31),
        ({"timeout": Timeout(attempt_s=[4, 9], grace_s=2)}, 11),
        ({"timeout": Timeout(attempt_s=4, total_s=20, grace_s=0)}, 4),
        ({"timeout": Timeout(attempt_s=4, total_s=20), "bulkhead": 1}, 21),
        ({"timeout": Timeout(attempt_s=4, total_s=20), "rate": "1/s"}, 21),
    ],
)
def test_the_lease_of_a_probe(parts: dict[str, Any], lease_s: float) -> None:
    """The longest attempt, or the total where a call may wait, and the grace."""
    assert resolve(tool=Policy(**parts), standing=Standing.REPEATABLE).probe_lease_s == lease_s


def test_every_value_can_be_shown() -> None:
    """Mappings, sets, sequences, records and functions become plain data; a function has its own name."""

    class Asks:
        """A function without a name."""

        def __call__(self, error: Any) -> bool:
            return True

        def __repr__(self) -> str:
            return "asks()"

    def host(arguments: Any) -> str:
        return ""

    effective = resolve(
        tool=Policy(
            retry=Retry(on=Asks(), per_kind={"network": Retry(base_s=3)}),
            breaker=Breaker(key=host),
            fallback=Fallback(steps=[UseValue({1: (2, {3})})], on=COVERED),
            isolation=Isolation("process", memory_mb=64),
        )
    )
    shown = effective.to_mapping()
    assert shown["retry"]["on"] == "asks()"
    assert shown["retry"]["per_kind"] == {"network": {"base_s": 3.0}}
    assert set(shown["retry"]) == {
        "max_attempts",
        "base_s",
        "factor",
        "cap_s",
        "backoff",
        "jitter",
        "per_kind",
        "on",
    }
    assert shown["breaker"]["key"].endswith("host")
    assert shown["fallback"] == {
        "steps": [{"value": {"1": [2, [3]]}}],
        "on": sorted(COVERED),
        "max_remembered": 256,
    }
    assert shown["isolation"] == {"mode": "process", "memory_mb": 64}
    assert shown["timeout"]["attempt_s"] == 60


def test_what_holds_is_not_copied() -> None:
    """Retries and what holds are immutable: a deep copy of something around them keeps them."""
    effective = resolve(tool=Policy(retry=2))
    around = copy.deepcopy({"policy": effective, "retry": effective.retry})
    assert around["policy"] is effective
    assert around["retry"] is effective.retry


@pytest.mark.parametrize(
    ("n", "remaining_s", "limit_s"),
    [
        (1, 99, 10),
        (2, 99, 5),
        (3, 99, 5),
        (0, 99, 10),
        (-3, 99, 10),
        (1, 7, 7),
        (2, 0.5, 0.5),
        (1, 0, 0),
        (1, -9, 0),
    ],
)
def test_the_limit_of_one_attempt(n: int, remaining_s: float, limit_s: float) -> None:
    """The attempt's own limit, at most what remains, never below nothing."""
    assert Timeout(attempt_s=[10, 5]).attempt(n, remaining_s) == limit_s


def test_totals_follow_attempts() -> None:
    """Without a total: a minute, or twice the longest attempt; exactly as long as the total is allowed."""
    assert Timeout(attempt_s=30).total_s == 60
    assert Timeout(attempt_s=31).total_s == 62
    assert Timeout(attempt_s=[5, 40]).total_s == 80
    assert Timeout(attempt_s=60, total_s=60).attempt_s == 60
    assert Timeout(idle_s=60).idle_s == 60
    assert Timeout(total_s=30).attempt_s == 30
    assert Timeout(total_s=29).attempt_s == 29
    assert Timeout(grace_s=0).grace_s == 0
    assert Timeout(attempt_s=[5]).attempt_s == (5,)
    assert Timeout(attempt_s=[3, 8, 5]).longest_attempt_s == 8
    assert Timeout(attempt_s=3).longest_attempt_s == 3


def test_limits_are_floats() -> None:
    """Whole numbers become floats, so that two equal limits look alike."""
    limits = Timeout(attempt_s=[4, 2], total_s=50, idle_s=3, grace_s=2)
    assert repr(limits) == "Timeout(attempt_s=(4.0, 2.0), total_s=50.0, idle_s=3.0, grace_s=2.0)"


def test_an_attempt_that_was_given_is_kept_for_every_tool() -> None:
    """Only the default attempt grows to the total for what is not repeatable, and it stays a default."""
    own = Timeout(attempt_s=5, total_s=40)
    assert own.attempt_given
    assert own.for_standing(False) is own
    plain = Timeout(total_s=40, idle_s=7, grace_s=3)
    assert not plain.attempt_given
    assert plain.for_standing(True) is plain
    grown = plain.for_standing(False)
    assert (grown.attempt_s, grown.total_s, grown.idle_s, grown.grace_s) == (40, 40, 7, 3)
    assert not grown.attempt_given
