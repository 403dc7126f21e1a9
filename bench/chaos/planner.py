"""Stands for the model: follows the ground truth and reacts to answers only by what they say.

The same for all systems. It repeats when nothing can have happened, looks when something may have happened, gives up
when it is told that it cannot, and where a failure of a write says nothing that it understands.
The bold one repeats there, and also where words alone leave it open whether something happened.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.chaos.faults import SECRET, spoiled

if TYPE_CHECKING:
    from bench.chaos.systems import Call
    from bench.chaos.world import Step, Task

__all__ = ["Planner"]

ASKS = 8
_UNSENT = re.compile(
    r"refused|429|too many requests|503|rate.?limit|not a valid tool|unknown tool|could not parse|"
    r"validation|invalid (json|argument)|json|expecting",
    re.IGNORECASE,
)
# What everybody knows to be ambiguous; a 502 or a crash says nothing of the effect to most readers.
_AMBIGUOUS = re.compile(r"time.?out|timed out|disconnected|reset by peer", re.IGNORECASE)
_REFUSED = re.compile(r"\b4(00|01|03|04|09|22)\b", re.IGNORECASE)


@dataclass
class _Reading:
    """What an answer says.

    Args:
        says: `done`; `nothing` happened, so it may be repeated; `maybe` it happened; `no`, it cannot be done; `unclear`.
        doubt: The doubt's id.
        wait_s: How long to wait.
        by_fields: Whether the answer says so in fields, and not in words that must be known.
    """

    says: str
    doubt: str | None = None
    wait_s: float = 2.0
    by_fields: bool = False


class Planner:
    """Does one task.

    Args:
        call: The system under test.
        bold: Whether it repeats what it does not understand.
        rate: Share of its calls that it spoils.
        key: Of the schedule by which it does.
    """

    def __init__(self, call: Call, *, bold: bool, rate: float, key: str) -> None:
        self._call, self._bold, self._rate, self._key = call, bold, rate, key
        self.asked = 0
        self.secrets = 0
        self.told_in_doubt = 0

    async def do(self, task: Task) -> list[str]:
        """What it believes of each step at the end: `done`, `not done` or `unknown`.

        A step that is not done ends the task, as a model would say that it cannot go on.
        """
        beliefs: list[str] = []
        for number, step in enumerate(task.steps):
            beliefs.append(await self._step(number, step))
            if beliefs[-1] != "done":
                break
        return beliefs + ["not done"] * (len(task.steps) - len(beliefs))

    async def _step(self, number: int, step: Step) -> str:
        for ask in range(ASKS):
            reading = await self._ask(step.name, step.arguments, f"{number} {ask}", spoil=ask == 0)
            if reading.says == "done":
                return "done"
            if reading.says == "no":
                return "not done"
            if reading.says != "nothing" and step.writes:
                belief = await self._after_doubt(number, step, reading)
                if belief != "again":
                    return belief
            await asyncio.sleep(reading.wait_s)
        return "not done"

    async def _after_doubt(self, number: int, step: Step, reading: _Reading) -> str:
        """A write may have happened: look, where that is understood; else give up, or repeat when bold."""
        self.told_in_doubt += reading.by_fields
        if self._bold and not reading.by_fields:
            return "again"
        if reading.says == "unclear":
            return "not done"
        belief = await self._look(number, step, reading)
        return "again" if belief == "not done" else belief

    async def _look(self, number: int, step: Step, reading: _Reading) -> str:
        """Find out whether it happened, and say so where somebody wants to know."""
        if step.look is None or step.before == step.after:
            return "unknown"
        for _ in range(ASKS):
            text, is_error = await self._send(step.look[0], json.dumps(step.look[1]))
            if not is_error:
                break
            await asyncio.sleep(_read(text).wait_s)
        else:
            return "unknown"
        happened = step.after in text
        if not happened and step.before not in text:
            return "unknown"
        if reading.doubt is not None:
            said = {"doubt": reading.doubt, "happened": happened, "evidence": f"{step.look[0]} shows it"}
            for _ in range(ASKS):
                _, is_error = await self._send("resolve_doubt", json.dumps(said))
                if not is_error:
                    break
                await asyncio.sleep(30)
        return "done" if happened else "not done"

    async def _ask(self, name: str, arguments: dict[str, Any], key: str, *, spoil: bool) -> _Reading:
        text = json.dumps(arguments)
        if spoil:
            name, text = spoiled(name, text, self._rate, f"{self._key} {key}")
        answer, is_error = await self._send(name, text)
        return _read(answer) if is_error else _Reading("done")

    async def _send(self, name: str, text: str) -> tuple[str, bool]:
        self.asked += 1
        answer, is_error = await self._call(name, text)
        self.secrets += SECRET in answer
        return answer, is_error


def _read(text: str) -> _Reading:
    """What an error says: by its fields where it has some, else by the words that people know."""
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if isinstance(fields, dict) and not fields.keys().isdisjoint(("effect", "retry")):
        wait_s = float(fields.get("retry_after_s") or 2.0)
        if fields.get("effect", "none") != "none":
            return _Reading("maybe", fields.get("doubt"), wait_s, by_fields=True)
        return _Reading("no" if fields.get("retry") == "no" else "nothing", None, wait_s)
    if _REFUSED.search(text):
        return _Reading("no")
    if _UNSENT.search(text):
        return _Reading("nothing")
    return _Reading("maybe" if _AMBIGUOUS.search(text) else "unclear")
