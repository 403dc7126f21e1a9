"""Writes docs/reference/errors/: one page a kind, made from the code, so that it cannot say anything else.

./run py docs/tools/error_pages.py            writes the pages
./run py docs/tools/error_pages.py --check    fails where a page is not what the code says
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from failsoft.core.calls import ToolCall
from failsoft.core.errors import error_class, make_error
from failsoft.core.kinds import KIND_DEFAULTS, ErrorKind
from failsoft.feedback import Feedback
from failsoft.feedback.languages.en import ENGLISH

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "errors"


@dataclass(frozen=True)
class Sample:
    """What a page shows of a kind."""

    when: str
    do: str
    tool: str
    arguments: dict[str, Any]
    message: str
    fields: dict[str, Any] = field(default_factory=dict)
    attempts: int = 1


_OPTIONS = ['resolve_doubt(doubt="doubt_7c1e", happened=..., evidence="...")']

SAMPLES: dict[str, Sample] = {
    "invalid_argument": Sample(
        "The arguments do not fit the tool's schema, are not JSON, or were cut off. Also an HTTP 400 or 422.",
        "Nothing, as a rule: the model corrects the call. Many of them for one tool mean that its description is unclear.",
        "book_table",
        {"day": "tomorrow", "persons": "four"},
        "2 arguments of book_table do not fit; nothing was run.",
        {
            "reason": "schema_mismatch",
            "context": {
                "problems": [
                    {
                        "field": "day",
                        "problem": "not a date",
                        "got": "tomorrow",
                        "expected": "ISO date such as 2026-03-02",
                    },
                    {
                        "field": "persons",
                        "problem": "not an integer",
                        "got": "four",
                        "expected": "integer from 1 to 12",
                    },
                ]
            },
        },
    ),
    "unknown_tool": Sample(
        "The model asked for a name that is not registered.",
        "Nothing, as a rule: the model reads the names. Names are never guessed and run.",
        "serch_orders",
        {"customer": 17},
        "There is no tool called 'serch_orders'.",
        {
            "reason": "tool_not_found",
            "context": {
                "did_you_mean": ["search_orders"],
                "available_tools": ["search_orders", "refund", "send_message"],
            },
        },
    ),
    "not_found": Sample(
        "HTTP 404 and 410, `FileNotFoundError`, `KeyError`, or a tool that raises `NotFound`.",
        "Raise `NotFound` with a sentence that names the thing; the model can look for it in another way.",
        "get_order",
        {"order": 48213},
        "Order 48213 was not found.",
    ),
    "conflict": Sample(
        "HTTP 409 and 412, a thing that exists already, or the same call still running elsewhere.",
        "Say in the message which state forbids it.",
        "create_user",
        {"name": "bob"},
        "A user called bob exists already.",
        {"reason": "already_exists"},
    ),
    "permission_denied": Sample(
        "HTTP 401 and 403, a role that is missing, or a person who said no.",
        "Look at the credentials or the rule; the model cannot change them.",
        "refund",
        {"order": 48213},
        "A person refused this call of refund; nothing was run.",
        {"reason": "refused"},
    ),
    "quota_exhausted": Sample(
        "A spending cap, a daily quota, or `insufficient_quota`.",
        "Raise the quota or wait for its next period; retries are wasted and are not made.",
        "translate",
        {"text": "hello"},
        "The account has no quota left; waiting a little will not help.",
    ),
    "rate_limited": Sample(
        "HTTP 429 and the throttling codes of providers, after the retries that were allowed.",
        "Set `Rate` for the tool, so that calls wait here and not there.",
        "search_catalogue",
        {"query": "lamp"},
        "Too many requests in a short time.",
        {"reason": "rate_limited", "retry_after_s": 12},
        3,
    ),
    "overloaded": Sample(
        "A bulkhead or a queue of failsoft's own is full, or the runtime is shutting down.",
        "Give the bulkhead more room, or the agent fewer parallel calls.",
        "resize_image",
        {"image": "lamp.png"},
        "resize_image has no free slot; nothing was run.",
        {"reason": "queue_full", "retry_after_s": 2},
    ),
    "unavailable": Sample(
        "HTTP 502, 503, 504, 520 to 524 and 529, or a database that is locked.",
        "See the operator's view for what the service said; declare the tool `read_only` or `idempotent` where it is.",
        "search_catalogue",
        {"query": "lamp"},
        "The service is overloaded right now.",
        {"reason": "http_503", "effect": "none", "context": {"other_tools": ["search_archive"]}},
        3,
    ),
    "network": Sample(
        "Refused, not resolved, reset, or a TLS failure.",
        "A certificate problem needs a person; the rest passes or is the operator's.",
        "send_message",
        {"to": "bob", "text": "Hello"},
        "The connection was reset before the answer came.",
        {"reason": "connection_reset"},
    ),
    "timeout": Sample(
        "An attempt or the whole call ran out of its time, HTTP 408, or a provider's timeout.",
        "Give the tool more time, or `idempotency_key`, or `verify`, so that fewer calls end in doubt.",
        "charge_card",
        {"order": 48213, "amount": "19.90"},
        "charge_card gave no answer in 30 seconds.",
        {"reason": "attempt_timeout", "context": {"doubt": "doubt_7c1e", "options": _OPTIONS}},
    ),
    "circuit_open": Sample(
        "The breaker of the tool is open: its last calls failed too often.",
        "Look at what failed before; `failsoft stats` shows the breaker.",
        "search_catalogue",
        {"query": "lamp"},
        "search_catalogue is paused because it kept failing; it was not called.",
        {"reason": "breaker_open", "retry_after_s": 24, "context": {"other_tools": ["search_archive"]}},
    ),
    "invalid_output": Sample(
        "What the tool returned breaks its declared return type; or the model's final answer breaks the output schema.",
        "Correct the tool or its type. The effect has happened: the call is not repeated.",
        "charge_card",
        {"order": 48213, "amount": "19.90"},
        "The result of charge_card does not fit its return type.",
        {
            "reason": "result_schema_mismatch",
            "context": {"problems": [{"field": "receipt", "problem": "missing"}]},
        },
    ),
    "model_error": Sample(
        "A refusal, a content filter, a context overflow, or a stream that broke off.",
        "Shorten the history, or use `FallbackClient`.",
        "summarise",
        {"text": "…"},
        "The input is too long for the model's context.",
        {"reason": "context_overflow"},
    ),
    "internal": Sample(
        "An exception out of the tool's body that is a bug, a worker that died, or a memory limit.",
        "See the traceback in the operator's view and correct the tool.",
        "make_report",
        {"month": "2026-02"},
        "The process that ran the tool died.",
        {"reason": "worker_died"},
    ),
    "budget_exhausted": Sample(
        "A limit of the run is reached: turns, calls, errors, tokens or time.",
        "Raise the limit if the run was worth it.",
        "search_catalogue",
        {"query": "lamp"},
        "The run has used its 100 calls.",
        {"reason": "max_calls"},
    ),
    "in_doubt": Sample(
        "An identical call came while it is not known whether the first one happened.",
        "Give the tool `verify`; or resolve it: `failsoft doubts`.",
        "charge_card",
        {"order": 48213, "amount": "19.90"},
        "An earlier identical call of charge_card may have happened; nobody has found out yet. Nothing was run now.",
        {"reason": "unresolved_doubt", "context": {"doubt": "doubt_7c1e", "options": _OPTIONS}},
    ),
    "cancelled": Sample(
        "The caller cancelled, or a sibling's failure ended the group.",
        "Nothing.",
        "make_report",
        {"month": "2026-02"},
        "The call was cancelled.",
    ),
    "unknown": Sample(
        "No rule of the classifier knew the exception.",
        "Add a rule, or raise an `AgentError` of a known kind in the tool.",
        "make_report",
        {"month": "2026-02"},
        "The tool failed and did not say why.",
    ),
}


def page_of(kind: ErrorKind) -> str:
    """The page of one kind."""
    sample, defaults = SAMPLES[kind], KIND_DEFAULTS[kind]
    error = make_error(kind, sample.message, **sample.fields)
    call = ToolCall("call_1", sample.tool, sample.arguments)
    reasons = {
        key.partition("/")[2]: text for key, text in ENGLISH.advice.items() if key.startswith(f"{kind}/")
    }
    lines = [
        f"# {kind}",
        "",
        ENGLISH.titles[kind],
        "",
        f"**When.** {sample.when}",
        "",
        f"**For the operator.** {sample.do}",
        "",
        f"Raise it as `failsoft.errors.{error_class(kind).__name__}`."
        if error_class(kind).__name__ != "AgentError"
        else f'Raise it as `AgentError("{kind}", "…")`.',
        "",
        "| field | where the error does not say |",
        "| --- | --- |",
        f"| domain | {defaults.domain} |",
        f"| retryable | {'yes' if defaults.retryable else 'no'} |",
        f"| effect | {defaults.effect} |",
        f"| owner | {defaults.owner} |",
        "",
    ]
    if reasons:
        lines += ["Reasons with words of their own:", "", "| reason | the model reads |", "| --- | --- |"]
        lines += [f"| `{reason}` | {text} |" for reason, text in reasons.items()]
        lines.append("")
    lines += ["## What the model reads", ""]
    for language, name in (("en", "English"), ("zh", "Chinese")):
        told = json.loads(Feedback(language=language).render(error, call=call, attempts=sample.attempts))
        text = Feedback("text", language).render(error, call=call, attempts=sample.attempts)
        pretty = json.dumps(told, ensure_ascii=False, indent=2)
        lines += [
            f"{name}, JSON:",
            "",
            "```json",
            pretty,
            "```",
            "",
            f"{name}, text:",
            "",
            "```text",
            text,
            "```",
            "",
        ]
    return "\n".join(lines)


def index() -> str:
    """The table of all kinds."""
    lines = [
        "# Errors",
        "",
        "One page a kind, made from the code by `docs/tools/error_pages.py`.",
        "What a field means is said in [feedback](../feedback.md).",
        "",
        "| kind | means | retryable | effect | owner |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind in ErrorKind:
        row = KIND_DEFAULTS[kind]
        retryable = "yes" if row.retryable else "no"
        lines.append(
            f"| [{kind}]({kind}.md) | {ENGLISH.titles[kind]} | {retryable} | {row.effect} | {row.owner} |"
        )
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    return {"index.md": index(), **{f"{kind}.md": page_of(kind) for kind in ErrorKind}}


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    wrong = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        wrong.append(name)
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    if "--check" in arguments and wrong:
        print(
            f"not what the code says: {', '.join(wrong)}\n\nhint: ./run py docs/tools/error_pages.py",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
