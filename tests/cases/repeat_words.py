"""What a body does and what a tool says of itself, in the words of `idempotency` cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["OUTCOMES", "NotUnderstood", "Script", "annotations_of", "first", "script_of"]


class NotUnderstood(Exception):
    """A form that this file does not know."""


Script = list[dict[str, Any]]

_ACT: Final[dict[str, Any]] = {"append": "effect"}
_RESET = {"class": "ConnectionResetError", "args": [104, "Connection reset by peer"]}
_REFUSED = {"class": "ConnectionRefusedError", "args": [111, "Connection refused"]}
_BUG = {"class": "RuntimeError", "args": ["a bug"]}
_NO_JSON = {"when": {"$datetime": "2026-03-02T09:00:00+00:00"}, "ids": {"$set": [1]}}
_TABLE: tuple[tuple[str, Script], ...] = (
    ("ok success succeeds succeeded done 200 call return", [_ACT, {"return": "done"}]),
    ("none null empty_result", [_ACT, {"return": None}]),
    ("empty empty_string", [_ACT, {"return": ""}]),
    ("lost lost_answer answer_lost lost_response response_lost ambiguous unknown", [_ACT, {"raise": _RESET}]),
    ("reset connection_reset connection_lost network", [_ACT, {"raise": _RESET}]),
    ("fails_after_effect error_after_effect", [_ACT, {"raise": _RESET}]),
    ("timeout times_out timed_out hang hangs", [_ACT, {"hang": True}]),
    ("crash crashes crashed kill killed dies sigkill process_killed worker_died", [_ACT, {"crash": True}]),
    ("crash_after_effect killed_after_effect", [_ACT, {"crash": True}]),
    ("crash_before_effect crash_before killed_before_effect", [{"crash": True}]),
    ("refused connect_refused connection_refused not_sent fails_before_effect", [{"raise": _REFUSED}]),
    ("fail fails failed failure error rejected declined definite_failure", [{"fail": "nothing was done"}]),
    ("no_effect", [{"fail": "nothing was done"}]),
    ("exception bug raises", [{"raise": _BUG}]),
    ("slow pending running", [{"sleep": 0.1}, _ACT, {"return": "done"}]),
    ("unserialisable unserializable not_json", [_ACT, {"return": _NO_JSON}]),
)
OUTCOMES: Final[Mapping[str, Script]] = {word: script for words, script in _TABLE for word in words.split()}


def first(spec: Mapping[str, Any], names: Iterable[str], default: Any = None) -> Any:
    """The value of the first name that is there."""
    return next((spec[name] for name in names if name in spec), default)


def script_of(spec: Any) -> list[Script]:
    """The scripts of a body's attempts; the last one holds for those that follow.

    Raises:
        NotUnderstood: No such word.
    """
    if isinstance(spec, list):
        if all(isinstance(step, dict) and len(step) == 1 and _is_step(step) for step in spec) and spec:
            return [spec]
        return [script for one in spec for script in script_of(one)]
    if isinstance(spec, dict):
        return [_script_of_dict(spec)]
    word = "null" if spec is None else str(spec).lower().strip()
    verb, _, rest = word.partition(":")
    if word in OUTCOMES:
        return [list(OUTCOMES[word])]
    if verb in ("return", "value"):
        return [[_ACT, {"return": str(spec).partition(":")[2]}]]
    if verb in ("raise", "error"):
        return [[{"raise": {"class": str(spec).partition(":")[2], "args": [rest]}}]]
    if word.isdigit() and len(word) == 3:
        return [[{"status": int(word)}]]
    raise NotUnderstood(f"no such outcome: {spec!r}")


_STEPS = frozenset({"append", "sleep", "raise", "return", "hang", "crash", "fail", "status", "return_key"})


def _is_step(step: Mapping[str, Any]) -> bool:
    return next(iter(step)) in _STEPS


def _script_of_dict(spec: Mapping[str, Any]) -> Script:
    if "script" in spec:
        return script_of(spec["script"])[0]
    if "value" in spec or "return" in spec:
        return [_ACT, {"return": first(spec, ("value", "return"))}]
    if "raise" in spec or "class" in spec:
        before = [_ACT] if spec.get("after_effect") or spec.get("effect") else []
        return [*before, {"raise": spec.get("raise", spec)}]
    if "error" in spec:
        return [{"fail": str(spec["error"])}]
    if "status" in spec:
        return [{"status": int(spec["status"])}]
    words = [word for word, value in spec.items() if value is True and word in OUTCOMES]
    if words:
        return list(OUTCOMES[words[0]])
    if "http_status" in spec:
        return [{"status": int(spec["http_status"])}]
    if len(spec) == 1 and _is_step(spec):
        return [dict(spec)]
    raise NotUnderstood(f"no such outcome: {dict(spec)!r}")


# ---- the tool ----

_HINTS = {
    "read_only": ("read_only", "readOnly", "readOnlyHint", "read_only_hint"),
    "idempotent": ("idempotent", "idempotentHint", "idempotent_hint"),
    "destructive": ("destructive", "destructiveHint", "destructive_hint"),
}


def annotations_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool says of itself; one that says nothing is taken for one that must not happen twice."""
    places = (spec, spec.get("annotations") or {})
    found = {
        name: value
        for name, words in _HINTS.items()
        for place in places
        if (value := first(place, words)) is not None
    }
    if not found and first(spec, ("side_effect", "side_effects", "has_side_effects")) in (False, "none"):
        return {"read_only": True}
    return found or {"read_only": False}
