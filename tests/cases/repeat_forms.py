"""The forms that an `idempotency` case may have, read into one: tools, calls, and what happens between them.

| part | forms |
| --- | --- |
| calls | `calls`, `events`, `steps`, `requests`, `call`; `runs` or `workers` with calls of their own; `a` and `b`, or `pair`, for two that are compared; `repeat` |
| one call | `id`, `name`, `arguments` or `raw_arguments`, `run`, `scope`, `key`, `occurrence`, `worker`, `result` (what its body does), `expect`; bare arguments where two are compared |
| at once | a list inside of the list, `{"parallel": [...]}`, or `"parallel": true` beside the calls |
| between calls | `"restart"`, `"crash"`, `"advance:61"`, `{"advance_s": 61}`, `{"resolve": "happened"}`, `{"begin": "A"}` and `{"finish": "A", "result": ...}` |
| what a body does | a word of `repeat_words.OUTCOMES`, a status such as `"503"`, `{"return": x}`, `{"raise": spec}`, `{"error": text}`, a script of steps, a list of such for its attempts |
| the tool | as for `execute`; annotations also in MCP's words; `idempotency_key`, `identity` or `ignore`, `defaults`, `verify`, `script`, `outcomes` |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cases.repeat_words import NotUnderstood, Script, first, script_of

__all__ = ["Asked", "Step", "read_steps"]


_CALLS = ("calls", "events", "steps", "sequence", "requests", "history", "turns")
_PAIRS = (
    ("a", "b"),
    ("left", "right"),
    ("first", "second"),
    ("one", "other"),
    ("call_a", "call_b"),
    ("x", "y"),
)
_AT_ONCE = (
    "parallel",
    "concurrent",
    "concurrency",
    "parallel_calls",
    "concurrently",
    "at_once",
    "together",
    "simultaneous",
    "in_parallel",
)
_ADVANCE = ("advance", "advance_s", "wait_s", "later_s", "after_s", "clock_s", "sleep_s")
_RESULT = (
    "result",
    "outcome",
    "does",
    "behaviour",
    "behavior",
    "response",
    "script",
    "body",
    "tool_result",
    "attempts",
)
_ARGUMENTS = ("arguments", "raw_arguments", "args", "input", "params", "parameters", "payload")
_NAMES = {
    "id": ("id", "call_id", "tool_call_id", "tool_use_id"),
    "name": ("name", "tool", "tool_name", "function"),
    "run": ("run", "run_id", "session", "session_id", "conversation", "thread"),
    "scope": ("scope", "tenant", "user", "caller", "account"),
    "key": ("key", "idempotency_key", "request_id"),
    "worker": ("worker", "process", "harness", "host", "machine"),
    "expect": ("expect", "expected", "want"),
}
_RESTARTS = ("restart", "process_restart", "restarted", "new_process", "resume", "replay_workflow")
_DEATHS = ("crash", "crash_after", "crash_at", "crash_before", "killed_after", "kill", "kill_after")
_BEGIN, _FINISH = (
    ("begin", "start", "begins", "starts"),
    ("finish", "end", "complete", "finishes", "ends", "release"),
)


@dataclass(slots=True, kw_only=True)
class Asked:
    """One call.

    Args:
        label: What an expectation may name it by.
        does: Scripts of its attempts; None leaves it to the tool.
        is_held: It begins now and ends when it is told to.
        expect: What is expected of it, where the case says so beside it.
    """

    label: str
    name: str | None = None
    arguments: Any = None
    run: str | None = "run-1"
    scope: str | None = None
    key: str | None = None
    occurrence: int = 1
    worker: str = "main"
    does: list[Script] | None = None
    is_held: bool = False
    cancel_after_s: float | None = None
    expect: Any = None


@dataclass(slots=True, kw_only=True)
class Step:
    """Something that happens: `calls` at once, or `verb` with `value`."""

    verb: str = "calls"
    calls: list[Asked] = field(default_factory=list)
    value: Any = None


# ---- calls ----


def _asked(spec: Any, number: int, row: Mapping[str, Any], **more: Any) -> Asked:
    if not isinstance(spec, Mapping):
        raise NotUnderstood(f"no such call: {spec!r}")
    known = {word for words in _NAMES.values() for word in words} | {
        *_ARGUMENTS,
        *_RESULT,
        "occurrence",
        "crash",
    }
    is_bare = more.pop("is_bare", False)
    if is_bare or not known & set(spec):
        spec = {"arguments": dict(spec)}
    does = _death(spec) or first(spec, _RESULT)
    name = first(spec, _NAMES["name"])
    asked = Asked(
        label=str(first(spec, _NAMES["id"], f"call_{number}")),
        name=name if isinstance(name, str) else None,
        arguments=first(spec, _ARGUMENTS, first(row, _ARGUMENTS, {})),
        run=first(spec, _NAMES["run"], first(row, _NAMES["run"], "run-1")),
        scope=first(spec, _NAMES["scope"]),
        key=_text(first(spec, _NAMES["key"], first(row, _NAMES["key"]))),
        occurrence=int(spec.get("occurrence", 1)),
        worker=str(first(spec, _NAMES["worker"], "main")),
        does=script_of(does) if does is not None or set(_RESULT) & set(spec) else None,
        cancel_after_s=first(spec, ("cancel_after_s", "cancelled_after_s"), row.get("cancel_outer_after_s")),
        expect=first(spec, _NAMES["expect"]),
    )
    for name, value in more.items():
        setattr(asked, name, value)
    return asked


def _text(key: Any) -> str | None:
    """A key of the caller's; a list of names is none."""
    return key if isinstance(key, str) else None


def _death(spec: Mapping[str, Any]) -> str | None:
    """How the process dies in this call, where it says so beside the call."""
    where = first(spec, _DEATHS)
    if not where:
        return None
    before = "crash_before" in spec or any(
        word in str(where) for word in ("intent", "claim", "begin", "start", "before")
    )
    return "crash_before_effect" if before else "crash"


def _word_step(word: str, number: int, row: Mapping[str, Any]) -> Step:
    verb, _, rest = word.partition(":")
    verb = verb.strip().lower()
    if verb in _RESTARTS:
        return Step(verb="restart")
    if verb in _ADVANCE:
        return Step(verb="advance", value=float(rest.strip().rstrip("s")))
    if verb == "resolve":
        return Step(verb="resolve", value=_happened(rest))
    if verb in _BEGIN:
        return Step(calls=[_asked({"id": rest, "worker": rest}, number, row, is_held=True)])
    if verb in _FINISH:
        label, _, outcome = rest.partition(":")
        return Step(verb="finish", value=(label, script_of(outcome or "ok")))
    if verb == "call" and rest:
        return Step(calls=[_asked({"result": rest}, number, row)])
    return Step(calls=[_asked({"result": word} if word != "call" else {"id": f"call_{number}"}, number, row)])


def _happened(said: Any) -> bool:
    if isinstance(said, Mapping):
        said = first(said, ("happened", "outcome", "as"), True)
    if isinstance(said, bool):
        return said
    return str(said).lower().strip() in ("happened", "true", "yes", "done", "succeeded", "success")


def _dict_step(item: Mapping[str, Any], number: int, row: Mapping[str, Any]) -> Step | None:
    """What a mapping means, where it is no call."""
    for word in _AT_ONCE:
        if isinstance(item.get(word), list):
            return Step(calls=[_asked(one, number + place, row) for place, one in enumerate(item[word])])
    if any(item.get(word) is True or (word in item and len(item) == 1) for word in _RESTARTS):
        return Step(verb="restart")
    if (seconds := first(item, _ADVANCE)) is not None and len(item) == 1:
        return Step(verb="advance", value=float(seconds))
    if "resolve" in item:
        return Step(verb="resolve", value=_happened(item["resolve"]))
    if (label := first(item, _BEGIN)) is not None:
        call = item.get("call") or {name: value for name, value in item.items() if name not in _BEGIN}
        label = str(label)
        return Step(calls=[_asked({"id": label, "worker": label, **call}, number, row, is_held=True)])
    if (label := first(item, _FINISH)) is not None:
        return Step(verb="finish", value=(str(label), script_of(first(item, _RESULT, "ok"))))
    return None


def _steps(items: Iterable[Any], row: Mapping[str, Any], **more: Any) -> list[Step]:
    made: list[Step] = []
    numbers = itertools.count(1)
    for item in items:
        number = next(numbers)
        if isinstance(item, str):
            made.append(_word_step(item, number, row))
        elif isinstance(item, list):
            made.append(
                Step(calls=[_asked(one, number + place, row, **more) for place, one in enumerate(item)])
            )
        elif (step := _dict_step(item, number, row)) is not None:
            made.append(step)
        else:
            if (seconds := first(item, _ADVANCE)) is not None:
                made.append(Step(verb="advance", value=float(seconds)))
            times = int(item.get("repeat", 1))
            made += [Step(calls=[_asked(item, number + place, row, **more)]) for place in range(times)]
    return made


def _pair(row: Mapping[str, Any]) -> list[Any] | None:
    """Two or more that are compared."""
    for left, right in _PAIRS:
        if left in row and right in row:
            return [row[left], row[right]]
    for word in (
        "pair",
        "compare",
        "same",
        "arguments",
        "args",
        "inputs",
        "variants",
        "spellings",
        "keys_of",
    ):
        if isinstance(row.get(word), list) and not any(name in row for name in _CALLS):
            return list(row[word])
    return None


def _of_parts(row: Mapping[str, Any]) -> list[Step] | None:
    """Calls that are listed by run or by worker."""
    for word, kind in (("runs", "run"), ("workers", "worker"), ("processes", "worker")):
        parts = row.get(word)
        if not isinstance(parts, list):
            continue
        made: list[Step] = []
        for number, part in enumerate(parts, 1):
            name = f"{kind}-{number}"
            calls = part
            if isinstance(part, Mapping):
                name, calls = str(part.get("id", part.get("name", name))), first(part, _CALLS, [])
            steps = _steps(calls, row)
            for asked in (asked for step in steps for asked in step.calls):
                setattr(asked, kind, name)
            made += steps
        return made
    return None


def read_steps(row: Mapping[str, Any]) -> list[Step]:
    """All that happens, in order.

    Raises:
        NotUnderstood: There is nothing in it that could be a call.
    """
    compared = _pair(row)
    if compared is not None:
        bare = [
            isinstance(one, Mapping) and not set(one) & {*_ARGUMENTS, "key", "name", "run"}
            for one in compared
        ]
        return [
            Step(
                calls=[
                    _asked(
                        one if isinstance(one, Mapping) else {"arguments": one}, place, row, is_bare=is_bare
                    )
                ]
            )
            for place, (one, is_bare) in enumerate(zip(compared, bare, strict=True), 1)
        ]
    steps = _of_parts(row)
    if steps is None:
        items = first(row, _CALLS)
        if items is None:
            items = [row["call"]] * int(row.get("repeat", row.get("times", 1))) if "call" in row else None
        if items is None and (set(_ARGUMENTS) | set(_NAMES["key"])) & set(row):
            items = ["call"] * int(row.get("repeat", row.get("times", 1)))
        if items is None and isinstance(row.get("tool"), Mapping):
            items = ["call"] * int(row.get("repeat", row.get("times", 1)))
        if items is None:
            raise NotUnderstood("there are no calls in this case")
        steps = _steps(
            list(items) * (int(row.get("repeat", 1)) if "call" not in row and first(row, _CALLS) else 1), row
        )
    return _arranged(steps, row)


def _arranged(steps: list[Step], row: Mapping[str, Any]) -> list[Step]:
    """At once, in runs of their own, or with a restart between each, where the case says so beside the calls."""
    flag = first(row, _AT_ONCE)
    calls = [asked for step in steps for asked in step.calls]
    if row.get("same_run") is False or row.get("new_run") is True:
        for number, asked in enumerate(calls, 1):
            asked.run = f"run-{number}"
    workers = first(row, ("workers", "processes"))
    if isinstance(workers, int) and not isinstance(workers, bool):
        flag = flag if flag is not None else True
        calls = [_copy(asked, f"worker-{number}") for number in range(1, workers + 1) for asked in calls]
    elif isinstance(flag, int) and not isinstance(flag, bool) and len({asked.label for asked in calls}) <= 2:
        calls = [_copy(calls[0], calls[0].worker) for _ in range(flag)]
    if flag:
        return [Step(calls=calls)]
    if any(row.get(word) is True or row.get(f"{word}_between") is True for word in _RESTARTS):
        return [part for step in steps for part in (step, Step(verb="restart"))][:-1]
    return steps


def _copy(asked: Asked, worker: str) -> Asked:
    values = {name: getattr(asked, name) for name in Asked.__slots__}
    return Asked(**{**values, "worker": worker})
