"""`failsoft run` and the people at the terminal: what it tells of its steps, and how it asks."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

import click

from failsoft.agent import Answer, StopReason
from failsoft.cli.output import clean, note, plain, seconds
from failsoft.core.events import EventName

if TYPE_CHECKING:
    from failsoft.agent import Case
    from failsoft.core.events import Event

__all__ = ["ask", "may_run", "question_lines", "step_line"]

_CHOICES = (
    "a: approve   c: correct the arguments   g: give up   Enter: answer later   other text goes to the model"
)


def step_line(event: Event) -> str:
    """One line for one step; empty for what needs none."""
    data, name = event.data, event.tool or "the model"
    if event.name is EventName.CALL_ADMITTED:
        return f"→ {name}"
    if event.name is EventName.ATTEMPT_FAILED:
        return (
            f"  {name}: attempt {event.attempt or data.get('number', 1)} failed: {_told(data.get('message'))}"
        )
    if event.name is EventName.RETRY_SCHEDULED:
        why = "" if event.tool else f" ({_told(data.get('message'))})"
        return f"  waiting {seconds(data['wait_s'])} for {name}{why}"
    if event.name is EventName.FALLBACK_USED:
        return f"  {name}: answered by {_told(data.get('by'))}"
    if event.name is EventName.CALL_FINISHED:
        return f"✓ {name} ({seconds(data['duration_s'])})"
    if event.name is EventName.CALL_FAILED:
        return f"✗ {name}: {_told(data.get('message'))} ({data['kind']}, {data['reason']})"
    return ""


def may_run(case: Case) -> bool:
    """Whether the call in question could be run as it is."""
    return case.call is not None and case.reason != StopReason.UNKNOWN_TOOL


def question_lines(case: Case) -> list[str]:
    """What a person is asked, with the call in question as it would run."""
    lines = [_told(case.question)]
    if case.call is not None:
        given = case.call.arguments
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        version = f" version {case.tool_version}" if case.tool_version else ""
        # Not cleaned: whoever approves a call must see what is approved. Control codes go.
        lines.append(f"  {plain(case.call.name)}{version} {plain(text)}")
    return lines


async def ask(case: Case) -> Answer | None:
    """Ask at the terminal; None where the answer comes later."""
    for line in question_lines(case):
        note(line)
    note(_CHOICES if may_run(case) else "g: give up   Enter: answer later   other text goes to the model")
    while True:
        text = (await _line("> ")).strip()
        if not text:
            return None
        if text == "g":
            return Answer.give_up()
        if not may_run(case) or text not in ("a", "c"):
            return Answer.guide(text)
        if text == "a":
            return Answer.approve(case.code)
        corrected = _arguments(await _line("arguments as JSON> "))
        if corrected is not None:
            return Answer.correct(corrected)
        note("that is no JSON object")


def _arguments(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


async def _line(prompt: str) -> str:
    """One line from the terminal, empty at its end; meanwhile the run keeps its hold and Ctrl-C is heard."""
    click.echo(prompt, nl=False, err=True)
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        return await loop.run_in_executor(None, sys.stdin.readline)
    # Without a thread: one that waits in a read of stdin makes Python's end a fatal error.
    is_there, file = asyncio.Event(), sys.stdin.fileno()
    loop.add_reader(file, is_there.set)
    try:
        await is_there.wait()
        return os.read(file, 65_536).decode("utf-8", "replace")
    finally:
        loop.remove_reader(file)


def _told(text: object) -> str:
    return plain(clean(str(text or "")))
