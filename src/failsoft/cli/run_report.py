"""`failsoft run`: how a run ended, for people and for programs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from failsoft.agent import StopReason
from failsoft.cli.output import clean, note, plain, print_json
from failsoft.cli.run_console import may_run, question_lines
from failsoft.core.kinds import ErrorKind

if TYPE_CHECKING:
    from failsoft.agent import Outcome
    from failsoft.cli.run_parts import Job
    from failsoft.core.errors import AgentError

__all__ = ["end"]

_COULD = "A person could: "
_NO_TOOLS = "Give tools: --tools MODULE or --mcp CMD; there were none."


def end(job: Job, outcome: Outcome) -> int:
    """Print how a run ended; the exit code."""
    waits = outcome.stop_reason is StopReason.ESCALATED and outcome.case is not None
    lines = _lines(job, outcome)
    _print(job, outcome, [line.removeprefix(_COULD) for line in lines if line.startswith(_COULD)])
    if outcome.finished:
        for line in lines[1:] if outcome.doubts else ():
            note(line)
        return 0
    if waits:
        _tell_question(job, outcome)
        return 3
    for line in lines:
        note(line)
    if outcome.stop_reason is not StopReason.INTERRUPTED and job.go_on:
        note(f"to go on with it: {job.go_on} [--answer TEXT]")
    return 1


def _tell_question(job: Job, outcome: Outcome) -> None:
    assert outcome.case is not None
    for line in question_lines(outcome.case):
        note(line)
    if outcome.case.reason == StopReason.UNKNOWN_TOOL and not job.has_tools:
        note(_NO_TOOLS)
    if not job.go_on:
        note("waiting for a person; it cannot go on, because its store was in memory")
        return
    note(f"waiting for a person; go on with one of:\n  {job.go_on} --answer TEXT")
    if may_run(outcome.case):
        note(f"  {job.go_on} --approve {outcome.case.code}")
    note(f"  {job.go_on} --give-up")


def _lines(job: Job, outcome: Outcome) -> list[str]:
    """The summary, in the words of the command line, and what can be said of the endpoint."""
    lines = [
        re.sub(r"\bLimits\.(\w+)", r"--limits \1=N", clean(line)) for line in outcome.summary().splitlines()
    ]
    if outcome.stop_reason is StopReason.MODEL_ERROR and outcome.errors:
        lines += [_COULD + clean(advice) for advice in _about_endpoint(job, outcome.errors[-1])]
    return lines


def _about_endpoint(job: Job, error: AgentError) -> list[str]:
    """What the one who called the command can do about a model that did not answer."""
    variable = "ANTHROPIC_BASE_URL" if job.api == "anthropic" else "OPENAI_BASE_URL"
    url = job.base_url or os.environ.get(variable)
    where = url or "the provider's own endpoint"
    key = "ANTHROPIC_API_KEY" if job.api == "anthropic" else "OPENAI_API_KEY"
    if error.reason == "missing_key":
        return ["Give --base-url where the model is at an endpoint that asks for no key."]
    if error.reason == "unauthenticated":
        return [f"Check the key in {key}; {where} did not accept it."]
    if error.kind == ErrorKind.NOT_FOUND:
        ends = "" if url is None else "; check the address too, it may lack its end, such as /v1"
        return [f"Check the model's name: {where} was asked for {job.model!r} (--model){ends}."]
    if error.kind in (ErrorKind.NETWORK, ErrorKind.TIMEOUT) and url is not None:
        return [f"Check that something answers at {where} (--base-url)."]
    if error.kind == ErrorKind.NETWORK:
        return ["Check the connection, or give --base-url for an endpoint that can be reached."]
    if error.reason in ("malformed_answer", "unreadable_answer"):
        return [f"Check that {where} speaks this API: --api {job.api}."]
    return []


def _print(job: Job, outcome: Outcome, advice: list[str]) -> None:
    if job.as_json:
        print_json({**_as_data(job, outcome), "advice": advice})
    elif outcome.text:
        # Lines stay; what could command a terminal goes.
        click.echo("\n".join(plain(line.expandtabs()) for line in outcome.text.split("\n")))


def _as_data(job: Job, outcome: Outcome) -> dict[str, Any]:
    case, usage = outcome.case, outcome.usage
    return {
        "run_id": outcome.run_id,
        "stop_reason": str(outcome.stop_reason),
        "text": outcome.text,
        "detail": clean(outcome.detail),
        "turns": outcome.turns,
        "calls": [
            {"tool": one.call.name, "ok": one.ok, "attempts": one.attempts, "doubt": one.doubt}
            for one in outcome.calls
        ],
        "errors": [
            {
                "tool": error.context.get("tool"),
                "kind": str(error.kind),
                "reason": error.reason,
                "effect": str(error.effect),
                "message": clean(error.message),
            }
            for error in outcome.errors
        ],
        "doubts": list(outcome.doubts),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        | {"total_tokens": usage.total_tokens, "requests": usage.requests},
        "waits_for": None
        if case is None or outcome.stop_reason is not StopReason.ESCALATED
        else {
            "question": clean(case.question),
            "code": case.code,
            "tool": None if case.call is None else case.call.name,
            "arguments": None if case.call is None else case.call.arguments,
            "go_on": job.go_on,
        },
    }
