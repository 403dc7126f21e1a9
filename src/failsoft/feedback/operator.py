"""The operator's view: everything that is known of a failure, free of secrets.

Local variables are never shown: they hold the arguments, and with them whatever the caller was trusted with.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import AgentError
from failsoft.feedback.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from failsoft.core.calls import Attempt, ToolCall

__all__ = ["operator_lines", "operator_view"]

_MAX_CAUSES = 10
_MAX_FRAMES = 30
_MAX_CHARS = 20_000
_DEFAULT_REDACTOR = Redactor()


def operator_view(
    error: AgentError,
    *,
    call: ToolCall | None = None,
    history: Sequence[Attempt] = (),
    redactor: Redactor | None = None,
    run_id: str | None = None,
) -> dict[str, Any]:
    """Everything about one failure as a JSON-able dict.

    Args:
        error: What failed.
        call: The call, as asked.
        history: The attempts one by one.
        redactor: Hides the secrets; the default one when not given.
        run_id: The run it belongs to.
    """
    hide = redactor or _DEFAULT_REDACTOR
    clean = hide.error(error.replace(message=error.message[:_MAX_CHARS]), "operator")
    view: dict[str, Any] = {
        "v": 1,
        "kind": str(clean.kind),
        "reason": clean.reason,
        "domain": str(clean.domain),
        "message": clean.message,
        "retryable": clean.retryable,
        "effect": str(clean.effect),
        "owner": str(clean.owner),
        "retry_after_s": clean.retry_after_s,
        "suggestion": clean.suggestion,
        "context": clean.context,
        "run_id": run_id,
        "call": _call(call, hide),
        "attempts": [_attempt(attempt, hide) for attempt in history],
        "causes": [_cause(exc, hide) for exc in _chain(error)],
    }
    return {key: value for key, value in view.items() if value is not None and value != [] and value != {}}


def operator_lines(view: Mapping[str, Any]) -> list[str]:
    """The view as lines of plain text, for a log or a terminal."""
    head = f"{view['kind']} ({view['reason']})" if view["reason"] != view["kind"] else view["kind"]
    lines = [f"{head}: {view['message'] or '(no message)'}"]
    facts = [
        f"{key}={view[key]}"
        for key in ("domain", "owner", "effect", "retryable", "retry_after_s")
        if key in view
    ]
    lines.append(f"  {' '.join(facts)}")
    if "call" in view:
        call = view["call"]
        where = f" run={view['run_id']}" if "run_id" in view else ""
        lines.append(f"  call {call['name']} id={call['id']}{where} arguments={call.get('arguments')}")
    if "suggestion" in view:
        lines.append(f"  suggestion: {view['suggestion']}")
    lines += [f"  {key}: {value}" for key, value in view.get("context", {}).items()]
    lines += [_attempt_line(attempt) for attempt in view.get("attempts", ())]
    for cause in view.get("causes", ()):
        lines.append(f"  {cause['how']} {cause['type']}: {cause['message']}")
        lines += [f"    {frame['file']}:{frame['line']} in {frame['function']}" for frame in cause["frames"]]
        lines += [f"    note: {note}" for note in cause.get("notes", ())]
    return lines


def _attempt_line(attempt: Mapping[str, Any]) -> str:
    ended = attempt.get("error", "ok")
    times = f"queued {attempt['queued_s']:.3f} s, ran {attempt['duration_s']:.3f} s"
    wait = f", then waited {attempt['wait_s']:.3f} s" if attempt["wait_s"] else ""
    return f"  attempt {attempt['number']} {attempt['tool']}: {ended}, {times}{wait}"


def _call(call: ToolCall | None, hide: Redactor) -> dict[str, Any] | None:
    if call is None:
        return None
    arguments = call.arguments
    if isinstance(arguments, (str, bytes)):
        arguments = arguments[:_MAX_CHARS]
    elif arguments is not None:
        arguments = dict(arguments)
    view = {"id": call.id, "name": call.name, "arguments": hide.value(arguments, "operator")}
    return {**view, "truncated": True} if call.truncated else view


def _attempt(attempt: Attempt, hide: Redactor) -> dict[str, Any]:
    view: dict[str, Any] = {
        "number": attempt.number,
        "tool": attempt.tool,
        "queued_s": attempt.queued_s,
        "duration_s": attempt.duration_s,
        "wait_s": attempt.wait_s,
    }
    if attempt.error is not None:
        view["error"] = f"{attempt.error.kind} ({attempt.error.reason}): {_text(str(attempt.error), hide)}"
    return view


def _chain(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """The error and what led to it, each once; the members of a group after the group."""
    seen: set[int] = set()
    waiting: list[tuple[str, BaseException]] = [("raised", error)]
    while waiting and len(seen) < _MAX_CAUSES:
        how, exc = waiting.pop(0)
        if id(exc) in seen:
            continue
        seen.add(id(exc))
        yield how, exc
        if isinstance(exc, BaseExceptionGroup):
            waiting += (("in the group", member) for member in exc.exceptions[:_MAX_CAUSES])
        if exc.__cause__ is not None:
            waiting.append(("caused by", exc.__cause__))
        elif exc.__context__ is not None and not exc.__suppress_context__:
            waiting.append(("while handling", exc.__context__))


def _cause(link: tuple[str, BaseException], hide: Redactor) -> dict[str, Any]:
    how, exc = link
    frames = traceback.extract_tb(exc.__traceback__, limit=-_MAX_FRAMES)
    view: dict[str, Any] = {
        "how": how,
        "type": f"{type(exc).__module__}.{type(exc).__qualname__}",
        "message": _text(_message_of(exc), hide),
        "frames": [
            {
                "file": _text(frame.filename, hide),
                "line": frame.lineno,
                "function": frame.name,
                "code": _text(frame.line or "", hide),
            }
            for frame in frames
        ],
    }
    notes = [_text(str(note), hide) for note in getattr(exc, "__notes__", ())]
    return {**view, "notes": notes} if notes else view


def _message_of(exc: BaseException) -> str:
    try:
        return exc.message if isinstance(exc, AgentError) else str(exc)
    except Exception as broken:  # a __str__ that raises must not hide the failure that it belongs to
        return f"(its text cannot be read: {type(broken).__name__})"


def _text(text: str, hide: Redactor) -> str:
    return hide.text(text[:_MAX_CHARS], "operator")
