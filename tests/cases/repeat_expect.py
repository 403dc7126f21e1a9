"""What an `idempotency` case may expect, beside the words of `expect`.

| word | is about |
| --- | --- |
| `executions`, `runs`, `executed` (a number); `side_effects`, `effects`; both with `_max`, `_min`, `max_`, `min_` | how often |
| `results`, `calls`, `outcomes`, `statuses`, `kinds` | one word or mapping for each call, in order; a number of them |
| `replayed`, `executed`, `joined`, `is_error`, `attempts`, `values_in_order` | one for each call; a bare one is about the last |
| `first`, `second`, `third`, `last`, `last_call`, `repeat`, or a call's id | one call |
| `same_key`, `same_call`, `keys_equal`, `equal`, `same`; `distinct_keys` | which calls are one |
| `keys_passed`, `keys_stable`, `distinct_keys_passed` | the idempotency keys that the tool was handed |
| `same_result`, `same_value` | whether all calls got the same |
| `doubts`, `in_doubt` | doubts that are open in the end |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.cases.expect import problems, same
from tests.cases.seen import Seen, of_result
from tests.cases.words import is_kind

if TYPE_CHECKING:
    from tests.cases.repeat_world import Answer

__all__ = ["checks_of", "problem_of", "seen_of", "status_of"]

Check = Callable[[Seen, Any], "str | None"]

_POSITIONS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
_POSITIONS |= dict.fromkeys(("repeat", "duplicate", "again", "retry_call", "second_call"), 1)
_POSITIONS |= dict.fromkeys(("last", "last_call", "final", "then", "afterwards"), -1) | {"first_call": 0}
_EXECUTIONS = (
    "executions",
    "runs",
    "ran_times",
    "execution_count",
    "tool_runs",
    "body_runs",
    "times_executed",
    "executed",
)
_EFFECTS = ("side_effects", "effects", "effect_count", "side_effect_count", "times_happened", "happened")
_LISTS = ("results", "calls", "outcomes", "statuses", "kinds", "states", "per_call", "answers")
_SAME_KEY = (
    "same_key",
    "same_keys",
    "keys_equal",
    "equal",
    "same",
    "same_call",
    "identical",
    "is_same",
    "one_call",
)
_STATUSES: dict[str, str] = {
    **dict.fromkeys(("executed", "ran", "fresh", "new", "run", "executes", "first_run"), "executed"),
    **dict.fromkeys(
        (
            "replayed",
            "replay",
            "cached",
            "duplicate",
            "deduplicated",
            "already_done",
            "recorded",
            "from_ledger",
        ),
        "replayed",
    ),
    **dict.fromkeys(("joined", "shared"), "replayed"),
    **dict.fromkeys(("running", "in_progress", "already_running", "busy", "come_back_later"), "running"),
    **dict.fromkeys(
        ("in_doubt", "unknown", "outcome_unknown", "possible", "ambiguous", "needs_check"), "in_doubt"
    ),
    **dict.fromkeys(
        ("mismatch", "key_mismatch", "key_reused", "payload_mismatch", "key_conflict", "different_arguments"),
        "mismatch",
    ),
    **dict.fromkeys(("crashed", "killed", "died", "no_result"), "crashed"),
    **dict.fromkeys(("success", "succeeded", "done"), "ok"),
    **dict.fromkeys(("failed", "error", "failure"), "error"),
    **dict.fromkeys(("refused", "rejected", "blocked", "not_executed", "skipped"), "not_executed"),
}


def status_of(answer: Answer) -> frozenset[str]:
    """All plain words that fit what a call came to."""
    result = answer.result
    if result is None:
        return frozenset({"crashed", "executed" if answer.executions else "not_executed"})
    found = {"ok" if result.ok else "error"}
    found |= {"executed"} if answer.executions else {"not_executed"}
    if result.replayed or result.joined:
        found.add("replayed")
    error = result.error
    if error is not None:
        if error.reason in ("already_running", "claim_contended"):
            found.add("running")
        if error.reason.startswith("key_"):
            found.add("mismatch")
        if is_kind(error, "outcome_unknown", doubt=result.doubt):
            found.add("in_doubt")
    return frozenset(found)


def seen_of(answer: Answer) -> Seen:
    """One call, for the checks of `expect`."""
    result = answer.result
    if result is None:
        return Seen(facts={"raises": False, "attempts": answer.executions}, checks=_own_checks(answer))
    seen = of_result(result, executed=answer.executions > 0, replayed=result.replayed or result.joined)
    seen.facts["attempts"] = answer.executions
    seen.checks = _own_checks(answer)
    return seen


def _is_status(answer: Answer, word: str) -> bool:
    word = word.lower()
    if _STATUSES.get(word, word) in status_of(answer):
        return True
    if word in _STATUSES:
        return False
    return answer.result is not None and is_kind(answer.result.error, word, doubt=answer.result.doubt)


def problem_of(answer: Answer, wanted: Any) -> str | None:
    """A word, a flag or a mapping about one call."""
    if isinstance(wanted, Mapping):
        return "; ".join(problems(seen_of(answer), wanted)) or None
    if isinstance(wanted, str) and not _is_status(answer, wanted):
        error = None if answer.result is None else answer.result.error
        return f"{answer.asked.label}: wanted {wanted}, came {sorted(status_of(answer))} {error!r}"
    return None


def _own_checks(answer: Answer) -> dict[str, Check]:
    def status(_seen: Seen, wanted: Any) -> str | None:
        return problem_of(answer, str(wanted))

    def flag(word: str) -> Check:
        def check(_seen: Seen, wanted: Any) -> str | None:
            return (
                None if (word in status_of(answer)) is bool(wanted) else f"came {sorted(status_of(answer))}"
            )

        return check

    def effect(_seen: Seen, wanted: Any) -> str | None:
        result = answer.result
        came = "possible" if result is None else "done" if result.error is None else str(result.error.effect)
        return None if came == wanted else f"wanted {wanted}, came {came}"

    def reason(_seen: Seen, wanted: Any) -> str | None:
        error = None if answer.result is None else answer.result.error
        came = None if error is None else error.reason
        return None if came == wanted else f"wanted {wanted}, came {came}"

    def doubt(_seen: Seen, wanted: Any) -> str | None:
        came = answer.result is not None and answer.result.doubt is not None
        return None if came is bool(wanted) else f"wanted {wanted}, came {came}"

    words = {
        "status": status,
        "state": status,
        "outcome": status,
        "effect": effect,
        "reason": reason,
        "doubt": doubt,
    }
    flags = {"replayed": "replayed", "cached": "replayed", "joined": "replayed", "in_doubt": "in_doubt"}
    flags |= {
        "conflict": "running",
        "already_running": "running",
        "ok": "ok",
        "executed": "executed",
        "run": "executed",
    }
    return {**words, **{name: flag(word) for name, word in flags.items()}}


# ---- all of it ----


def _count(name: str, how: str) -> Check:
    def check(seen: Seen, wanted: Any) -> str | None:
        if isinstance(wanted, Mapping):
            came_by = {tool: seen.facts[f"{name}_by"][tool] for tool in wanted}
            return None if came_by == wanted else f"wanted {wanted}, came {came_by}"
        if (
            name == "effects"
            and isinstance(wanted, list)
            and not any(isinstance(one, bool) for one in wanted)
        ):
            return (
                None if same(seen.facts["effects_values"], wanted) else f"came {seen.facts['effects_values']}"
            )
        if isinstance(wanted, (list, bool)):
            return _each(name)(seen, wanted)
        came = seen.facts[name]
        good = came <= wanted if how == "max" else came >= wanted if how == "min" else came == wanted
        return None if good else f"wanted {how} {wanted}, came {came}"

    return check


def _each(word: str) -> Check:
    """A list with one for each call; a bare value is about the last one."""

    def check(seen: Seen, wanted: Any) -> str | None:
        answers: list[Answer] = seen.facts["answers"]
        if isinstance(wanted, int) and not isinstance(wanted, bool) and word in _LISTS:
            came = sum(answer.result is not None for answer in answers)
            return None if came == wanted else f"wanted {wanted} results, came {came}"
        if not isinstance(wanted, list):
            wanted, answers = [wanted], answers[-1:]
        if len(wanted) != len(answers):
            return f"wanted {len(wanted)}, there are {len(answers)}"
        found = [_about(word, answer, want) for answer, want in zip(answers, wanted, strict=True)]
        return "; ".join(problem for problem in found if problem) or None

    return check


def _about(word: str, answer: Answer, wanted: Any) -> str | None:
    if word in _LISTS:
        return problem_of(answer, wanted)
    name = {"executions": "executed", "effects": "executed"}.get(word, word)
    result = answer.result
    came: Any = None
    if name == "attempts":
        came = answer.executions
    elif name in ("values_in_order", "values"):
        came = None if result is None else result.value
    elif name == "is_error":
        came = result is None or not result.ok
    else:
        came = name in status_of(answer) or (name == "joined" and "replayed" in status_of(answer))
    return None if same(came, wanted) else f"{answer.asked.label}: wanted {wanted!r}, came {came!r}"


def _fact(name: str) -> Check:
    def check(seen: Seen, wanted: Any) -> str | None:
        came = seen.facts[name]
        if isinstance(wanted, bool) and not isinstance(came, bool):
            came = bool(came)
        return None if came == wanted else f"wanted {wanted!r}, came {came!r}"

    return check


def _position(place: int) -> Check:
    def check(seen: Seen, wanted: Any) -> str | None:
        return problem_of(seen.facts["answers"][place], wanted)

    return check


def _counts() -> dict[str, Check]:
    made: dict[str, Check] = {}
    for fact, words in (("executions", _EXECUTIONS), ("effects", _EFFECTS)):
        for word in words:
            made[word] = _count(fact, "exactly")
            for form in ("{}_max", "max_{}", "{}_at_most", "at_most_{}"):
                made[form.format(word)] = _count(fact, "max")
            for form in ("{}_min", "min_{}", "{}_at_least"):
                made[form.format(word)] = _count(fact, "min")
    return made


_CHECKS: dict[str, Check] = {
    **_counts(),
    **{
        word: _each(word)
        for word in (*_LISTS, "replayed", "joined", "is_error", "attempts", "values_in_order")
    },
    **{word: _position(place) for word, place in _POSITIONS.items()},
    **{word: _fact("same_key") for word in _SAME_KEY},
    **{word: _fact("distinct_keys") for word in ("distinct_keys", "distinct_calls", "different_keys")},
    **{
        word: _fact("keys_stable")
        for word in ("keys_stable", "same_idempotency_key", "key_stable", "stable_key")
    },
    **{word: _fact("distinct_keys_passed") for word in ("distinct_keys_passed", "distinct_idempotency_keys")},
    **{word: _fact("same_value") for word in ("same_result", "same_value", "results_equal", "same_results")},
    **{word: _fact("doubts") for word in ("doubts", "open_doubts", "in_doubt", "doubt")},
    **{
        word: lambda seen, wanted: _pattern(seen, wanted, "keys")
        for word in ("keys_passed", "idempotency_keys")
    },
    **{
        word: lambda seen, wanted: _pattern(seen, wanted, "ledger_keys")
        for word in ("keys", "call_keys", "key_groups")
    },
}


def _pattern(seen: Seen, wanted: Any, name: str) -> str | None:
    """A number of keys, or a letter or number for each: the same one, the same key."""
    keys = seen.facts[name]
    if not isinstance(wanted, list):
        came = len({key for key in keys if key is not None})
        return None if came == wanted else f"wanted {wanted} keys, came {came}"
    came, groups = [keys.index(key) for key in keys], [wanted.index(one) for one in wanted]
    return None if came == groups else f"wanted the pattern {groups}, came {came}"


def checks_of(answers: list[Answer]) -> dict[str, Check]:
    """All checks, with one for each call by its id; what is said of no call in particular is about the last one."""
    last = _own_checks(answers[-1])
    named = {answer.asked.label: _position(place) for place, answer in enumerate(answers)}
    named |= {re.sub(r"\W", "_", label): check for label, check in named.items()}
    return {**named, **last, **_CHECKS}
