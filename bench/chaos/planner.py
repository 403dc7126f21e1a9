"""Stands for the model: follows the ground truth and reacts to answers only by what they say.

The same for all systems. It repeats when it is told that it may, looks when something may have happened, gives up when
it is told that it cannot, and where a failure of a write says nothing that it understands.
The bold one repeats there, and also where it would take knowledge to see that something may have happened.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.chaos.reading import Reading, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.chaos.systems import Call
    from bench.chaos.world import Step, Task

__all__ = ["Planner"]

ASKS = 8
_SHOWN_CHARS = 300


class Planner:
    """Does one task.

    Args:
        call: The system under test.
        bold: Whether it repeats what it does not understand.
        garbled: What it sends in place of a name and a text, at a place of the task.
        secret: What should never be in an answer.
        hear: Told each step before it is asked for, with None, and after it with what was answered.
    """

    def __init__(
        self,
        call: Call,
        *,
        bold: bool,
        garbled: Callable[[str, str, str], tuple[str, str]] = lambda name, text, place: (name, text),
        secret: str = "",
        hear: Callable[[Step, Reading | None], None] = lambda step, reading: None,
    ) -> None:
        self._call, self._bold, self._garbled = call, bold, garbled
        self._secret, self._hear = secret, hear
        self.asked = self.secrets = self.told = 0
        self.was_puzzled = False
        self.log: list[str] = []

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
            reading = await self._ask(step, f"{number} {ask}", spoil=ask == 0)
            if reading.says == "done":
                return "done"
            if reading.says == "no":
                return "not done"
            if reading.says != "again" and step.writes:
                belief = await self._after_doubt(step, reading)
                if belief != "again":
                    return belief
            await asyncio.sleep(reading.wait_s)
        return "not done"

    async def _after_doubt(self, step: Step, reading: Reading) -> str:
        """A write may have happened: look, where that is understood; else give up, or repeat when bold."""
        if not reading.is_told:
            self.was_puzzled = True
            if self._bold:
                return "again"
        if reading.says == "unclear":
            return "not done"
        belief = await self._look(step, reading)
        return "again" if belief == "not done" else belief

    async def _look(self, step: Step, reading: Reading) -> str:
        """Find out whether it happened, and say so where somebody wants to know."""
        look = step.look
        if look is None:
            return "unknown"
        for _ in range(ASKS):
            text, is_error = await self._send(look.tool, json.dumps(look.arguments))
            seen = read(text, is_error)
            if seen.says in ("done", "no"):
                break
            await asyncio.sleep(seen.wait_s)
        else:
            return "unknown"
        happened = _fits(look.after, text, is_error)
        if not happened and not _fits(look.before, text, is_error):
            return "unknown"
        if reading.doubt is not None:
            await self._resolve(reading.doubt, happened, look.tool)
        return "done" if happened else "not done"

    async def _resolve(self, doubt: str, happened: bool, tool: str) -> None:
        said = json.dumps({"doubt": doubt, "happened": happened, "evidence": f"{tool} shows it"})
        for _ in range(ASKS):
            _, is_error = await self._send("resolve_doubt", said)
            if not is_error:
                return
            await asyncio.sleep(30)

    async def _ask(self, step: Step, place: str, *, spoil: bool) -> Reading:
        name, text = step.name, json.dumps(step.arguments)
        if spoil:
            name, text = self._garbled(name, text, place)
        self._hear(step, None)
        reading = read(*await self._send(name, text))
        if reading.says == "no" and (name, text) != (step.name, json.dumps(step.arguments)):
            reading = replace(reading, says="again")  # it sees what it has sent, and mends it
        self._hear(step, reading)
        self.told += reading.is_told
        return reading

    async def _send(self, name: str, text: str) -> tuple[str, bool]:
        self.asked += 1
        answer, is_error = await self._call(name, text)
        self.secrets += bool(self._secret) and self._secret in answer
        if is_error or name == "resolve_doubt":
            self.log.append(f"{name}: {answer[:_SHOWN_CHARS]}")
        return answer, is_error


def _fits(wanted: str | None, text: str, is_error: bool) -> bool:
    """Whether an answer shows the state that is meant; None stands for a refusal."""
    return is_error if wanted is None else not is_error and wanted in text
