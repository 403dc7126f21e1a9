"""A stand-in for a language model: rules that read tool results and errors, and react to them. Not a language model.

It knows what a careful reader of the feedback would do: repeat what it may repeat, correct what it got wrong, check what
may have happened, and give up what cannot be done. It sees what a model sees, and nothing else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["DEFAULT_QUESTION", "Move", "Seen", "next_move"]

DEFAULT_QUESTION = (
    "Dana Brook says that order 1042 arrived broken. See whether the item is still in the catalogue, "
    "refund the order in full, and write to her."
)
_MOST_TRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One call of the conversation and what came back.

    Args:
        name: The tool.
        input: The arguments.
        ok: Whether there was a value.
        content: What the model read.
    """

    name: str
    input: dict[str, Any]
    ok: bool
    content: str

    def data(self) -> dict[str, Any]:
        """The content as JSON, notes before it left out; empty where it is none."""
        start = self.content.find("{")
        try:
            found = json.loads(self.content[start:]) if start >= 0 else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What the stand-in says next: calls, or a last word."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(slots=True, kw_only=True)
class Goal:
    """One thing to get done, and where it stands.

    Args:
        tool: The tool that does it.
        call: Its arguments, given how often it has been tried.
        check: For acts: the look-up that tells whether it happened, and how to read it.
        state: `open`, `done`, `doubt`, `happened`, `not_happened`, `unknown` or `failed`.
    """

    tool: str
    call: Callable[[int], dict[str, Any]]
    check: tuple[str, dict[str, Any], Callable[[dict[str, Any]], bool]] | None = None
    state: str = "open"
    tries: int = 0
    checks: int = 0
    doubt: str = ""
    why: str = ""
    value: dict[str, Any] = field(default_factory=dict)

    def learn(self, seen: Seen) -> None:
        """Take one call of the conversation into account."""
        if seen.name == self.tool and self._is_mine(seen):
            self._learn_of_call(seen)
        elif self.check is not None and seen.name == self.check[0] and self.state == "doubt":
            self._learn_of_check(seen)
        elif seen.name == "resolve_doubt" and self.doubt and seen.input.get("doubt") == self.doubt:
            if not seen.ok:
                self.state = "unknown"
            else:
                self.state = "done" if seen.input.get("happened") else "open"

    def _is_mine(self, seen: Seen) -> bool:
        own = self.call(1)
        return all(
            seen.input.get(name) == value
            for name, value in own.items()
            if name in ("order_id", "to", "query")
        )

    def _learn_of_call(self, seen: Seen) -> None:
        self.tries += 1
        data = seen.data()
        if seen.ok:
            self.state, self.value = "done", data
        elif data.get("effect") == "possible" and data.get("doubt"):
            self.state, self.doubt = "doubt", data["doubt"]
        elif data.get("retry") in ("after_fix", "later") and self.tries < _MOST_TRIES:
            self.state = "open"
        else:
            self.state = "failed"
        self.why = str(data.get("message", ""))

    def _learn_of_check(self, seen: Seen) -> None:
        assert self.check is not None
        self.checks += 1
        if seen.ok:
            self.state = "happened" if self.check[2](seen.data()) else "not_happened"
        elif self.checks >= _MOST_TRIES:
            self.state = "unknown"

    def next_call(self) -> tuple[str, dict[str, Any]] | None:
        """The call that moves it on; None where there is nothing left to do."""
        match self.state:
            case "open":
                return self.tool, self.call(self.tries)
            case "doubt" if self.check is not None:
                return self.check[0], self.check[1]
            case "happened" | "not_happened":
                happened = self.state == "happened"
                name = self.check[0] if self.check is not None else "a look"
                evidence = f"{name} {'lists it' if happened else 'does not list it'}"
                return "resolve_doubt", {"doubt": self.doubt, "happened": happened, "evidence": evidence}
            case _:
                return None


def next_move(question: str, history: Sequence[Seen]) -> Move:
    """What to do next in a conversation that began with `question`."""
    number = re.search(r"\b(\d{4})\b", question)
    if number is None:
        return Move(
            text="I am a stand-in that follows rules, not a language model. Name an order, such as 1042, and say whether "
            "to look it up, search the catalogue for its item, refund it, or write to the customer."
        )
    words = question.lower()
    order = _learned(Goal(tool="find_order", call=lambda tries: {"order_id": number[1]}), history)
    done: list[Goal] = [order]
    if order.state != "done":
        return _go_on(done) or Move(text=_last_word(done))
    for goal in _further(words, order.value):
        done.append(_learned(goal, history))
        if done[-1].next_call() is not None:
            return _go_on(done) or Move()
        if goal.tool == "refund" and goal.state != "done":
            break  # a customer is not told of a refund that nobody can vouch for
    return Move(text=_last_word(done))


def _further(words: str, order: dict[str, Any]) -> Iterator[Goal]:
    """What the question asks for beside the order itself."""
    if re.search(r"catalogue|stock|available|still", words):
        yield Goal(tool="search_catalogue", call=lambda tries: {"query": order["item"].lower()})
    if "refund" in words:
        yield _refund(order)
    if re.search(r"\b(write|mail|message|tell|send)\b", words):
        yield _message(order, "refund" in words)


def _refund(order: dict[str, Any]) -> Goal:
    def call(tries: int) -> dict[str, Any]:
        # The first try has the mistake that models make most often: money as text. The feedback says how to mend it.
        amount: Any = order["amount_cents"] if tries else f"{order['amount_cents'] / 100:.2f} EUR"
        return {"order_id": order["id"], "amount_cents": amount, "reason": "arrived broken"}

    def listed(data: dict[str, Any]) -> bool:
        return bool(data.get("refunds"))

    return Goal(tool="refund", call=call, check=("list_refunds", {"order_id": order["id"]}, listed))


def _message(order: dict[str, Any], refunded: bool) -> Goal:
    subject = f"Your order {order['id']}"
    money = f"{order['amount_cents'] / 100:.2f}"
    body = f"Dear {order['customer']},\n\nabout your {order['item']}: "
    body += f"we have refunded {money}.\n" if refunded else "thank you for your patience.\n"

    def listed(data: dict[str, Any]) -> bool:
        return any(message["subject"] == subject for message in data.get("messages", ()))

    content = {"to": order["email"], "subject": subject, "body": body}
    return Goal(
        tool="send_message",
        call=lambda tries: content,
        check=("list_messages", {"to": order["email"]}, listed),
    )


def _learned(goal: Goal, history: Sequence[Seen]) -> Goal:
    for seen in history:
        goal.learn(seen)
    return goal


def _go_on(goals: list[Goal]) -> Move | None:
    call = goals[-1].next_call()
    return None if call is None else Move(calls=(call,))


def _last_word(goals: list[Goal]) -> str:
    """The answer: what was found, done, left in doubt and not done."""
    lines = []
    for goal in goals:
        match goal.state:
            case "done":
                lines.append(_done_line(goal))
            case "unknown" | "doubt":
                lines.append(
                    f"It is not known whether {goal.tool} took effect; a person should look ({goal.doubt})."
                )
            case _:
                lines.append(f"{goal.tool} could not be done: {goal.why}")
    return "\n".join(lines)


def _done_line(goal: Goal) -> str:
    match goal.tool:
        case "find_order":
            order = goal.value
            return f"Order {order['id']} of {order['customer']}: {order['item']}, {order['amount_cents'] / 100:.2f}."
        case "search_catalogue":
            items = goal.value.get("items", [])
            stock = f"{items[0]['in_stock']} in stock" if items else "not listed any more"
            return f"Catalogue: {stock}."
        case "refund":
            return "The refund was made, once."
        case _:
            return "The message was sent, once."
