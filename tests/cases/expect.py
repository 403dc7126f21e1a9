"""Compare what was seen with what a case expects: one check a word; a word without a check fails the case."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from tests.cases.seen import retry_word
from tests.cases.words import is_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.cases.seen import Seen

__all__ = ["problems", "same"]

# For a reader or a judge, or handled by whoever calls `problems`.
_NOT_CHECKED: Final = frozenset({"model_told", "rows"})
_CLOSE_S: Final = 0.05


def problems(seen: Seen, expect: Mapping[str, Any]) -> list[str]:
    """What is not as expected, one line each.

    Raises:
        UnknownWord: A kind that the table of words does not have.
    """
    found = []
    for word, wanted in expect.items():
        if word in _NOT_CHECKED:
            continue
        check = seen.checks.get(word) or _check_of(word)
        if check is None:
            found.append(f"unknown expectation: {word}")
            continue
        try:
            problem = check(seen, wanted)
        except KeyError as exc:
            problem = f"this operation does not measure {exc}"
        if problem:
            found.append(f"{word}: {problem}")
    return found


def _check_of(word: str) -> Callable[[Seen, Any], str | None] | None:
    numbered = re.fullmatch(r"distinct_values_at_attempt_(\d+)_min", word)
    return _distinct_waits(int(numbered[1])) if numbered else _CHECKS.get(word)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: True is not 1, and 1.0 is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"


def _told(seen: Seen) -> str:
    return f"told: {_short(seen.texts)}"


# ---- kinds and retries ----


def _kind(seen: Seen, wanted: str) -> str | None:
    if _corrected(seen) or is_kind(seen.error, wanted, doubt=seen.doubt):
        return None
    error = seen.error
    came = (
        "ok"
        if error is None
        else f"{error.kind}/{error.reason}, effect {error.effect}: {_short(error.message)}"
    )
    return f"wanted {wanted}, came {came}"


def _corrected(seen: Seen) -> bool:
    """A name that the runtime was allowed to correct, and did."""
    return bool(seen.facts.get("corrected"))


def _kind_any(seen: Seen, wanted: list[str]) -> str | None:
    found = [_kind(seen, word) for word in wanted]
    return None if None in found else str(found[0])


def _any_of(seen: Seen, wanted: list[Mapping[str, Any]]) -> str | None:
    found = [problems(seen, one) for one in wanted]
    return None if [] in found else f"no alternative fits: {found}"


def _retry(seen: Seen, wanted: bool | str) -> str | None:
    word = retry_word(seen.error, seen.repeatable)
    if seen.facts.get("attempts", 1) > 1 and wanted is False:
        return f"it was tried {seen.facts['attempts']} times"
    if seen.repeatable is not None and wanted == "if_idempotent":
        wanted = seen.repeatable
    return None if word == wanted else f"wanted {wanted!r}, came {word!r}"


def _retry_after(seen: Seen, wanted: float | None) -> str | None:
    came = None if seen.error is None else seen.error.retry_after_s
    if wanted is None or came is None:
        return None if came == wanted else f"wanted {wanted!r}, came {came!r}"
    return None if abs(came - wanted) <= _CLOSE_S else f"wanted {wanted!r}, came {came!r}"


def _needs_reconnect(seen: Seen, wanted: bool) -> str | None:
    came = seen.error is not None and bool(seen.error.context.get("needs_reconnect"))
    return None if came is wanted else f"wanted {wanted}, came {came}"


# ---- what the model is told ----


def _must_contain(seen: Seen, wanted: list[str]) -> str | None:
    missing = [word for word in wanted for text in seen.texts if word.lower() not in text.lower()]
    return f"{missing} missing; {_told(seen)}" if missing or not seen.texts else None


def _must_contain_any(seen: Seen, wanted: list[str]) -> str | None:
    for text in seen.texts:
        if not any(word.lower() in text.lower() for word in wanted):
            return f"none of {wanted}; {_told(seen)}"
    return None if seen.texts else "nothing was told"


def _must_not_contain(seen: Seen, wanted: list[str]) -> str | None:
    there = [word for word in wanted for text in seen.texts if word.lower() in text.lower()]
    return f"{there} told; {_told(seen)}" if there else None


def _max_chars(seen: Seen, wanted: int) -> str | None:
    longest = max(len(text) for text in seen.texts)
    return f"{longest} characters told" if longest > wanted else None


def _utf8(seen: Seen, wanted: bool) -> str | None:
    try:
        repr_of_all = [*seen.texts, json.dumps(seen.ran_with or [], ensure_ascii=False, default=str)]
        "".join(repr_of_all).encode("utf-8")
    except UnicodeEncodeError as exc:
        return None if not wanted else str(exc)
    return None if wanted else "it can be encoded"


def _full_size(seen: Seen, wanted: int) -> str | None:
    numbers = {re.sub(r"[ ,_'.]", "", found) for found in re.findall(r"\d[\d ,_'.]*", seen.texts[0])}
    return None if str(wanted) in numbers else f"{wanted} is not stated"


def _json_or_text(seen: Seen, wanted: bool) -> str | None:
    content = seen.facts["content"]
    good = bool(content)
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            json.loads(content)
        except ValueError:
            good = False
    return None if good is wanted else f"content is {_short(content)}"


def _image(seen: Seen, wanted: bool) -> str | None:
    good = seen.facts["image_intact_or_replaced"]
    return None if good is wanted else f"content is {_short(seen.facts['content'])}"


# ---- executions ----


def _run(seen: Seen, wanted: bool) -> str | None:
    if seen.ran_with is None:
        raise KeyError("run")
    return None if bool(seen.ran_with) is wanted else f"executed with {_short(seen.ran_with)}; {_told(seen)}"


def _recovered(seen: Seen, wanted: dict[str, Any]) -> str | None:
    if seen.ran_with and same(seen.ran_with[-1], wanted):
        return None
    return f"wanted {_short(wanted)}, executed with {_short(seen.ran_with)}"


def _never_with(seen: Seen, wanted: str) -> str | None:
    def strings(value: Any) -> list[str]:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, list):
            return [text for item in value for text in strings(item)]
        return [value] if isinstance(value, str) else []

    bad = [text for text in strings(seen.ran_with or []) if re.search(wanted, text)]
    return f"executed with {_short(bad)}" if bad else None


# ---- names ----


def _suggest(seen: Seen, wanted: list[str]) -> str | None:
    if _corrected(seen):
        return None
    came = [] if seen.error is None else list(seen.error.context.get("did_you_mean", ()))
    if not wanted:
        return f"suggested {came}" if came else None
    return None if set(wanted) <= set(came) else f"wanted {wanted}, suggested {came}"


def _autocorrect(seen: Seen, wanted: str) -> str | None:
    ran = seen.facts["ran_tool"]
    return None if ran in (None, wanted) else f"ran {ran}"


# ---- facts ----


def _equal(name: str) -> Callable[[Seen, Any], str | None]:
    def check(seen: Seen, wanted: Any) -> str | None:
        came = seen.facts[name]
        return None if same(came, wanted) else f"wanted {_short(wanted)}, came {_short(came)}"

    return check


def _at_most(name: str) -> Callable[[Seen, float], str | None]:
    def check(seen: Seen, wanted: float) -> str | None:
        came = seen.facts[name]
        return None if came is not None and came <= wanted else f"at most {wanted}, came {came}"

    return check


def _at_least(name: str) -> Callable[[Seen, float], str | None]:
    def check(seen: Seen, wanted: float) -> str | None:
        came = seen.facts[name]
        return None if came >= wanted else f"at least {wanted}, came {came}"

    return check


def _members(name: str) -> Callable[[Seen, Mapping[str, Any]], str | None]:
    def check(seen: Seen, wanted: Mapping[str, Any]) -> str | None:
        came = seen.facts[name]
        wrong = {key: came.get(key) for key in wanted if key not in came or not same(came[key], wanted[key])}
        return f"wanted {_short(wanted)}, came {_short(wrong)} in {_short(came)}" if wrong else None

    return check


def _no_process(seen: Seen, wanted: str) -> str | None:
    left = [line for line in seen.facts["processes_left"] if wanted in line]
    return f"left: {left}" if left else None


def _between(seen: Seen, wanted: list[float]) -> str | None:
    low, high = wanted
    wrong = [wait for waits in seen.facts["waits"].values() for wait in waits if not low <= wait <= high]
    return f"outside: {wrong[:5]}" if wrong else None


def _distinct_waits(number: int) -> Callable[[Seen, int], str | None]:
    def check(seen: Seen, wanted: int) -> str | None:
        came = len(set(seen.facts["waits"][number]))
        return None if came >= wanted else f"at least {wanted}, came {came}"

    return check


def _last_call(seen: Seen, wanted: Mapping[str, Any]) -> str | None:
    return "; ".join(problems(seen.facts["last_call"], wanted)) or None


def _then_kind(seen: Seen, wanted: str) -> str | None:
    error = seen.facts["last_error"]
    if is_kind(error, wanted):
        return None
    return f"wanted {wanted}, came {'ok' if error is None else error!r}"


# ---- schemas ----


def _absent(seen: Seen, wanted: list[str]) -> str | None:
    there = [word for word in wanted if word in seen.facts["schema"]]
    return f"{there} in {_short(seen.facts['schema'])}" if there else None


def _required(seen: Seen, wanted: list[str]) -> str | None:
    came = seen.facts["schema"].get("required", [])
    return None if sorted(came) == sorted(wanted) else f"wanted {wanted}, came {came}"


def _nullable(seen: Seen, wanted: list[str]) -> str | None:
    def allows_null(part: Any) -> bool:
        kinds = part.get("type")
        either = [*part.get("anyOf", ()), *part.get("oneOf", ())]
        return (
            kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or any(map(allows_null, either))
        )

    wrong = [name for name in wanted if not allows_null(seen.facts["schema"]["properties"][name])]
    return f"not nullable: {wrong}" if wrong else None


def _keeps(seen: Seen, wanted: list[str]) -> str | None:
    gone = set(wanted) - set(seen.facts["schema"].get("properties", {}))
    return f"gone: {sorted(gone)}" if gone else None


def _enforced(seen: Seen, wanted: Mapping[str, Any]) -> str | None:
    rest = {key: value for key, value in wanted.items() if key != "arguments"}
    return "; ".join(problems(seen.facts["call_with"](wanted["arguments"]), rest)) or None


_EQUAL = (
    "results executions values_in_order result_ids_unique history_pairs_match result_ids is_error all_content_nonempty "
    "raises outer attempts history_result_for value side_effects total_budget_respected executed run_stop_signal "
    "all_match_pattern distinct round_trip"
)
_AT_MOST = {
    "tool_cleanup_ran_within_s": "cleanup_s",
    "returns_within_s": "elapsed_s",
    "max_elapsed_s": "elapsed_s",
    "adapter_max_upstream_requests": "upstream_requests",
    "max_text_chars": "text_chars",
    "executed_max": "executions",
    "answered_max_before_stop": "answered",
}

_CHECKS: Final[dict[str, Callable[[Seen, Any], str | None]]] = {
    "kind": _kind,
    "kind_any": _kind_any,
    "any_of": _any_of,
    "retry": _retry,
    "retry_after_s": _retry_after,
    "needs_reconnect": _needs_reconnect,
    "must_contain": _must_contain,
    "must_contain_any": _must_contain_any,
    "must_not_contain": _must_not_contain,
    "max_chars": _max_chars,
    "utf8_encodable": _utf8,
    "states_full_size_chars": _full_size,
    "valid_json_or_text": _json_or_text,
    "image_intact_or_replaced": _image,
    "run": _run,
    "recovered_arguments": _recovered,
    "never_run_with_regex": _never_with,
    "suggest": _suggest,
    "may_autocorrect_to": _autocorrect,
    "values": _members("values"),
    "min_heartbeats": _at_least("heartbeats"),
    "no_process_left_matching": _no_process,
    "all_between_s": _between,
    "last_call": _last_call,
    "then_kind": _then_kind,
    "has": _members("schema"),
    "absent_top_level": _absent,
    "required_set": _required,
    "nullable": _nullable,
    "keeps_properties": _keeps,
    "still_enforced_locally": _enforced,
    **{name: _equal(name) for name in _EQUAL.split()},
    **{name: _at_most(fact) for name, fact in _AT_MOST.items()},
}
