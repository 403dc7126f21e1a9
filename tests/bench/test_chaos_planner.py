"""The planner of the chaos suite: what it understands, and what it does about it."""

from __future__ import annotations

import json

import pytest

from bench.chaos.planner import Planner, _read
from bench.chaos.world import Step, Task
from failsoft.testing.clock import VirtualClock, run_virtual

STEP = Step(
    name="cancel",
    arguments={"order_id": "1"},
    writes=True,
    look=("get_order", {"order_id": "1"}),
    before="open",
    after="cancelled",
)
TASK = Task(id="t", domain="d", steps=(STEP,), final={})


class Shop:
    """A system that makes every cancel and loses the first answer, with given words."""

    def __init__(self, words: str) -> None:
        self.words, self.cancelled, self.resolved = words, 0, ""

    async def call(self, name: str, arguments: str) -> tuple[str, bool]:
        if name == "resolve_doubt":
            self.resolved = arguments
            return "Noted", False
        if name == "get_order":
            return ("cancelled" if self.cancelled else "open"), False
        self.cancelled += 1
        return (self.words, True) if self.cancelled == 1 else ("ok", False)


def beliefs_of(shop: Shop, bold: bool = False) -> list[str]:
    """What the planner believes at the end."""

    async def main(clock: VirtualClock) -> list[str]:
        return await Planner(shop.call, bold=bold, rate=0.0, key="k").do(TASK)

    return run_virtual(main)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ConnectError('[Errno 111] Connection refused')", "nothing"),
        ("Client error '422 Unprocessable Entity' for url", "no"),
        ("ReadTimeout('')", "maybe"),
        ("RuntimeError('worker gone')", "unclear"),
        (json.dumps({"v": 1, "ok": False, "retry": "no", "effect": "possible", "doubt": "d1"}), "maybe"),
        (json.dumps({"v": 1, "ok": False, "retry": "no"}), "no"),
        (json.dumps({"v": 1, "ok": False, "retry": "after_fix", "effect": "none"}), "nothing"),
    ],
)
def test_answers_are_read_by_their_fields_or_their_words(text: str, says: str) -> None:
    """Fields come first; without them only well-known words count."""
    assert _read(text).says == says


def test_a_doubt_is_looked_at_and_resolved() -> None:
    """The planner checks before it repeats, and says what it found."""
    shop = Shop(json.dumps({"v": 1, "ok": False, "effect": "possible", "doubt": "d1"}))
    assert beliefs_of(shop) == ["done"]
    assert shop.cancelled == 1
    assert json.loads(shop.resolved)["happened"] is True


def test_what_is_not_understood_parts_the_planners() -> None:
    """The careful one gives up, the bold one repeats."""
    careful, bold = Shop("RuntimeError('gone')"), Shop("RuntimeError('gone')")
    assert (beliefs_of(careful), careful.cancelled) == (["not done"], 1)
    assert (beliefs_of(bold, bold=True), bold.cancelled) == (["done"], 2)
