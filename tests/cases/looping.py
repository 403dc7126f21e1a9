"""Operation `loop`: a model that asks for the same again and again, in a real agent run."""

from __future__ import annotations

from typing import Any

from failsoft.agent import Agent, Limits
from failsoft.core.errors import make_error
from failsoft.harness.harness import Harness
from failsoft.testing.clients import ScriptedClient
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen

__all__ = ["run_loop"]

_ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


def _tools(calls: list[dict[str, Any]], ran: list[str]) -> list[Tool[..., Any]]:
    def body_of(name: str) -> Any:
        outcomes = [call["result"] for call in calls if call["name"] == name]

        def body(**_arguments: Any) -> Any:
            outcome = outcomes[len([done for done in ran if done == name]) % len(outcomes)]
            ran.append(name)
            if "raise" in outcome:
                raise build.exception(outcome["raise"])
            if "error" in outcome:
                raise make_error("unknown", outcome["error"], effect="none")
            return build.value(outcome["value"])

        return body

    known = {call["name"]: None for call in calls if not call["result"].get("unknown_tool")}
    return [
        Tool.from_schema(name, _ANYTHING, body_of(name), description="A tool.", read_only=True)
        for name in known
    ]


async def run_loop(row: dict[str, Any]) -> Seen:
    """The calls, one a turn, `repeat` times over; the model never stops by itself before that."""
    calls, limit, ran = row["calls"], row["limit"], list[str]()
    turns = [[(call["name"], call["arguments"])] for _ in range(row["repeat"]) for call in calls]
    client = ScriptedClient(turns, then="I give up.")
    limits = Limits(same_call_failures=limit, unknown_tool_calls=limit, stall_repeats=limit)
    harness = Harness(_tools(calls, ran), store="memory")
    outcome = await Agent(client, harness, limits=limits).run("Go on.")
    await harness.aclose()
    stopped = len(client.requests) <= len(turns) and str(outcome.stop_reason) != "finished"
    facts = {
        "executions": len(ran),
        "answered": len(client.requests),
        "last_error": _last_error(outcome, stopped),
        "run_stop_signal": stopped,
        "raises": False,
    }
    return Seen(facts=facts)


def _last_error(outcome: Any, stopped: bool) -> Any:
    """The last error that the model was given; where the run was stopped, the reason is its last word."""
    last = outcome.errors[-1] if outcome.errors else None
    if stopped:
        return make_error("budget_exhausted", outcome.summary or "", reason=str(outcome.stop_reason))
    return last
