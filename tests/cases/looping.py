"""Operation `loop`: a model that asks for the same again and again, in a real agent run.

| in the input | is |
| --- | --- |
| `calls`; an entry that is a list is one turn of several calls | what the model asks for, a turn each |
| `turns` | the same, each entry a turn |
| `repeat` (default 1) | how often it goes through them |
| `limit`; or `limits`, by the agent's own names | when to speak up |
| a call's `arguments` or `raw_arguments` | default none |
| a call's `result`, or `results`, the last one staying | default an empty success |
| a result: `value`, `error` with `kind` and `retry_after_s`, `raise`, `status` and `body`, `unknown_tool` | what its body does |
| `tools`: names, or declarations with `poll`, `read_only`, `idempotent`, `destructive` | tools beside those of the calls |
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from failsoft.agent import Agent, Limits
from failsoft.agent.watch import canonical
from failsoft.classify import classify_response
from failsoft.core.calls import ToolCall
from failsoft.core.errors import AgentError, make_error
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen, text_of
from tests.cases.words import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["run_loop"]

_ANYTHING: Final = {"type": "object", "properties": {}, "additionalProperties": True}
_LIMITS: Final = {field.name for field in fields(Limits)}
_WORDS: Final = ("poll", "read_only", "idempotent", "destructive")

Call = dict[str, Any]


def _turns(row: Mapping[str, Any]) -> list[list[Call]]:
    """The calls of each turn, once through."""
    given = row.get("turns") or row.get("calls") or []
    return [list(entry) if isinstance(entry, list) else [entry] for entry in given]


def _arguments(call: Mapping[str, Any]) -> Any:
    return call.get("arguments", call.get("raw_arguments", {}))


def _key(call: Mapping[str, Any]) -> str:
    return canonical(ToolCall("", call["name"], _arguments(call)))


def _outcomes(call: Mapping[str, Any]) -> list[Any]:
    """What the executions of a call give, one after another."""
    given = call.get("results", call.get("result", {"value": ""}))
    return list(given) if isinstance(given, list) and given else [given]


def _is_unknown(call: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and bool(one.get("unknown_tool")) for one in _outcomes(call))


def _give(outcome: Any) -> Any:
    """Do what one execution is to do.

    Raises:
        BaseException: The failure that it is to be.
    """
    if not isinstance(outcome, dict):
        return outcome
    if "raise" in outcome:
        raise build.exception(outcome["raise"])
    if "status" in outcome:
        error = classify_response(outcome["status"], outcome.get("headers") or {}, outcome.get("body"))
        if error is not None:
            raise error
        return outcome.get("body")
    if "error" in outcome:
        raise _error(outcome)
    return build.value(outcome.get("value", ""))


def _error(outcome: Mapping[str, Any]) -> AgentError:
    said = outcome["error"]
    if isinstance(said, dict) and "class" in said:
        raise build.exception(said)
    text = said if isinstance(said, str) else str(said)
    known = KINDS.get(outcome.get("kind", "internal")) or KINDS["internal"]
    kind = known[0][0] if "kind" in outcome else "unknown"
    return make_error(kind, text, effect="none", retry_after_s=outcome.get("retry_after_s"))


def _tools(row: Mapping[str, Any], calls: list[Call], ran: list[str]) -> list[Tool[..., Any]]:
    declared = {
        one if isinstance(one, str) else one["name"]: {} if isinstance(one, str) else one
        for one in row.get("tools") or ()
    }
    scripts: dict[str, list[Any]] = {}
    for call in calls:
        scripts.setdefault(_key(call), []).extend(_outcomes(call))
    names = [*declared, *(call["name"] for call in calls if not _is_unknown(call))]
    return [_tool(name, declared.get(name, {}), calls, scripts, ran) for name in dict.fromkeys(names)]


def _tool(
    name: str,
    declared: Mapping[str, Any],
    calls: list[Call],
    scripts: Mapping[str, list[Any]],
    ran: list[str],
) -> Tool[..., Any]:
    own = [call for call in calls if call["name"] == name]
    words = {word: declared[word] for word in _WORDS if word in declared}
    words |= {"poll": True} if any(call.get("poll") for call in own) else {}
    if not set(words) - {"poll"}:
        words["read_only"] = True

    def body(**arguments: Any) -> Any:
        key = canonical(ToolCall("", name, arguments))
        script = scripts.get(key) or [one for call in own for one in _outcomes(call)] or [{"value": ""}]
        number = ran.count(key)
        ran.append(key)
        # Entries of equal calls go round; results that were listed for one call end with the last.
        listed = any("results" in call for call in own if _key(call) == key)
        return _give(script[min(number, len(script) - 1) if listed else number % len(script)])

    schema = declared.get("schema") or _ANYTHING
    make: Callable[..., Tool[..., Any]] = Tool.from_schema
    return make(name, schema, body, description=declared.get("description") or "A tool.", **words)


def _limits(row: Mapping[str, Any]) -> Limits:
    given = {name: value for name, value in (row.get("limits") or {}).items() if name in _LIMITS}
    given |= {name: row[name] for name in _LIMITS if name in row}
    limit = row.get("limit", row.get("max_repeats"))
    if limit is not None:
        for name in ("same_call_failures", "unknown_tool_calls", "stall_repeats"):
            given.setdefault(name, limit)
    return Limits(**given)


async def run_loop(row: dict[str, Any]) -> Seen:
    """The turns, `repeat` times over; the model never stops by itself before that."""
    once, ran = _turns(row), list[str]()
    calls = [call for turn in once for call in turn]
    turns = [[(call["name"], _arguments(call)) for call in turn] for turn in once] * int(row.get("repeat", 1))
    client = ScriptedClient(turns, then="I give up.")
    harness = Harness(_tools(row, calls, ran), store="memory")
    outcome = await Agent(client, harness, limits=_limits(row)).run("Go on.")
    await harness.aclose()
    stopped = not outcome.finished
    last = outcome.errors[-1] if outcome.errors else None
    if stopped:  # the reason is the run's last word
        last = make_error("budget_exhausted", outcome.summary(), reason=str(outcome.stop_reason))
    told = "\n".join([*(text_of(result.content) for result in outcome.calls), outcome.summary()])
    facts = {
        "executions": len(ran),
        "executed": len(ran),
        "answered": len(client.requests),
        "last_error": last,
        "run_stop_signal": stopped,
        "stop_reason": str(outcome.stop_reason),
        "raises": False,
        "history_pairs_match": True,  # the run itself refuses to send a conversation that is none
    }
    return Seen(facts=facts, error=last, texts=(told,), checks=_CHECKS)


def _fact(name: str, holds: Callable[[Any, Any], bool]) -> Callable[[Seen, Any], str | None]:
    def check(seen: Seen, wanted: Any) -> str | None:
        came = seen.facts[name]
        return None if holds(came, wanted) else f"wanted {wanted!r}, came {came!r}"

    return check


_CHECKS: Final = {
    "executed_min": _fact("executions", lambda came, wanted: came >= wanted),
    "executions_max": _fact("executions", lambda came, wanted: came <= wanted),
    "executions_min": _fact("executions", lambda came, wanted: came >= wanted),
    "answered_max": _fact("answered", lambda came, wanted: came <= wanted),
    "answered_min": _fact("answered", lambda came, wanted: came >= wanted),
    "stop_reason": _fact("stop_reason", lambda came, wanted: came == wanted),
    "stopped": _fact("run_stop_signal", lambda came, wanted: came is wanted),
}
