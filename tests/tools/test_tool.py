"""What `@tool` makes of a function."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from failsoft.core.annotations import Standing
from failsoft.core.context import CallContext as RuntimeContext
from failsoft.core.errors import InvalidArgument, UsageError
from failsoft.policies import UNSET, Isolation, Retry, Timeout
from failsoft.tools import Registry, Tool, tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from failsoft.core.context import CallContext


class Address(BaseModel):
    """Where somebody lives."""

    city: str
    zip_code: str = "00000"


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


@tool(read_only=True, timeout_s=3)
async def get_weather(city: str, day: Annotated[date, "ISO date"], unit: Literal["c", "f"] = "c") -> str:
    """Current weather of a city.

    Only today and tomorrow are known.

    Args:
        city: City name,
            such as "Beijing".
        day: Not used, the annotation says it.

    Returns:
        One line of text.
    """
    return f"{city} {day} {unit}"


def test_name_description_and_parameters_come_from_the_function() -> None:
    """The docstring and the annotations say everything that the model reads."""
    assert get_weather.name == "get_weather"
    assert get_weather.description == (
        "Current weather of a city.\n\nOnly today and tomorrow are known.\n\nReturns: One line of text."
    )
    assert get_weather.params == {"city": 'City name, such as "Beijing".', "day": "ISO date"}
    properties = get_weather.schema["properties"]
    assert properties["unit"] == {"default": "c", "enum": ["c", "f"], "type": "string"}
    assert get_weather.schema["required"] == ["city", "day"]
    assert get_weather.schema["additionalProperties"] is False
    assert get_weather.defaults == {"unit": "c"}
    assert get_weather.identity == ("city", "day", "unit")


async def test_a_tool_is_called_like_its_function() -> None:
    """Neither validation nor policy stands between the function and its own author."""
    assert await get_weather("Rome", day=date(2026, 1, 2)) == "Rome 2026-01-02 c"
    assert inspect.signature(get_weather).parameters.keys() == {"city", "day", "unit"}
    assert get_weather.__name__ == "get_weather"
    assert get_weather.is_async


def test_arguments_become_python_values() -> None:
    """`parse` gives what the annotations promise, defaults filled in."""
    assert get_weather.parse('{"city": "Rome", "day": "2026-01-02"}').values == {
        "city": "Rome",
        "day": date(2026, 1, 2),
        "unit": "c",
    }
    with pytest.raises(InvalidArgument):
        get_weather.parse('{"city": "Rome", "day": "2026-01-02", "planet": "Mars"}')
    with pytest.raises(InvalidArgument) as refusal:
        get_weather.parse('{"city": "Ro', truncated=True)
    assert refusal.value.reason == "truncated"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Do it.\n\nArgs:\n    n (int): How many.\n", "How many."),
        ("Do it.\n\nParameters\n----------\nn : int\n    How many.\n", "How many."),
        ("Do it.\n\n:param n: How many.\n:returns: Nothing.\n", "How many."),
    ],
)
def test_docstring_styles(doc: str, expected: str) -> None:
    """Google, NumPy and reST docstrings describe parameters alike."""

    def act(n: int) -> None: ...

    act.__doc__ = doc
    made = tool(act)
    assert made.params == {"n": expected}
    assert made.description.startswith("Do it.")


def test_field_metadata_is_kept() -> None:
    """`Annotated[..., Field(...)]` reaches the schema, and its description wins over the docstring's."""

    @tool
    def order(
        count: Annotated[int, Field(ge=1, le=9, description="How many pieces.")],
        tags: list[str] = Field(default_factory=list, max_length=3),
        *,
        note: str | None = None,
    ) -> None:
        """Order.

        Args:
            count: Something else.
            tags: Free words.
        """

    properties = order.schema["properties"]
    assert properties["count"] == {
        "description": "How many pieces.",
        "maximum": 9,
        "minimum": 1,
        "type": "integer",
    }
    assert properties["tags"]["description"] == "Free words."
    assert properties["tags"]["maxItems"] == 3
    assert order.schema["required"] == ["count"]
    assert order.defaults == {"note": None}, "what a factory makes is not a default that can be compared"


def test_types_defined_beside_the_tool_are_found() -> None:
    """Annotations written as text may name what only the enclosing function knows."""

    class Local(BaseModel):
        n: int

    @tool(read_only=True)
    def take(item: Local, where: Address, at: Point) -> int:
        """Take it."""
        return item.n

    values = take.parse({"item": {"n": 1}, "where": {"city": "Rome"}, "at": {"x": 2}}).values
    assert values["item"] == Local(n=1)
    assert values["where"] == Address(city="Rome")
    assert values["at"] == Point(2)


def test_call_context_is_injected_and_never_shown() -> None:
    """A parameter annotated with `CallContext` is the runtime's, also where the import is for type checkers only."""

    @tool
    def act(ctx: CallContext, n: int) -> None:
        """Act."""

    @tool
    def optional(n: int, call: RuntimeContext | None = None) -> None:
        """Act."""

    assert optional.context_parameter == "call"
    assert act.context_parameter == "ctx"
    assert "ctx" in act.hidden
    assert "ctx" not in act.schema["properties"]
    with pytest.raises(InvalidArgument):
        act.parse({"n": 1, "ctx": {}})


def test_idempotency_key_is_hidden() -> None:
    """The parameter that takes the key is filled by the runtime."""

    @tool(idempotency_key="key")
    def pay(cents: int, key: str) -> None:
        """Pay."""

    assert pay.hidden == {"key"}
    assert list(pay.schema["properties"]) == ["cents"]
    assert pay.identity == ("cents",)


def test_kinds_of_callables_are_told_apart() -> None:
    """Sync, async, generators, partials and callable objects are known for what they are."""

    def plain(n: int) -> int:
        return n

    async def later(n: int) -> int:
        return n

    def many(n: int) -> Iterator[int]:
        yield n

    async def stream(n: int) -> AsyncIterator[int]:
        yield n

    class Caller:
        """Calls somebody."""

        async def __call__(self, n: int) -> int:
            return n

    def kinds(made: Tool[..., Any]) -> tuple[bool, bool, bool]:
        return made.is_async, made.is_generator, made.is_async_generator

    assert kinds(tool(plain)) == (False, False, False)
    assert kinds(tool(later)) == (True, False, False)
    assert kinds(tool(many)) == (False, True, False)
    assert kinds(tool(stream)) == (False, False, True)
    assert kinds(tool(functools.partial(later))) == (True, False, False)
    made = tool(Caller())
    assert kinds(made) == (True, False, False)
    assert (made.name, made.description) == ("Caller", "Calls somebody.")
    assert asyncio.run(made(3)) == 3


def test_what_a_partial_fixes_is_not_shown() -> None:
    """Bound keywords and positions belong to the developer."""

    def send(client: object, to: str, retries: int = 1) -> tuple[object, str, int]:
        """Send."""
        return client, to, retries

    made = tool(functools.partial(send, "client", retries=5))
    assert made.name == "send"
    assert list(made.schema["properties"]) == ["to"]
    assert made.fn(**made.parse({"to": "you"}).values) == ("client", "you", 5)


def test_methods_are_bound_when_taken_from_their_object() -> None:
    """A decorated method becomes a tool of its object; without one it is refused."""

    class Desk:
        def __init__(self, name: str) -> None:
            self.name = name

        @tool(destructive=True)
        def refund(self, order: int) -> str:
            """Refund an order."""
            return f"{self.name} {order}"

        @staticmethod
        @tool
        def look(order: int) -> int:
            """Look."""
            return order

    desk = Desk("a")
    assert list(desk.refund.schema["properties"]) == ["order"]
    assert desk.refund(3) == "a 3"
    assert desk.refund.fn(order=4) == "a 4"
    assert Desk("b").refund(1) == "b 1"
    assert Desk.look(2) == 2
    assert Registry([desk.refund, Desk.look]).get("refund") is not None
    with pytest.raises(UsageError, match=r"desk\.refund"):
        Registry([Desk.refund])
    assert tool(Desk("c").__init__, name="x").schema["required"] == ["name"]


def test_annotations_and_categories() -> None:
    """A category's words fill what is not given, and never overrule what is."""

    def act() -> None: ...

    assert tool(act).standing is Standing.UNDECLARED
    assert tool(act, category="query").standing is Standing.REPEATABLE
    assert tool(act, category="communicate").standing is Standing.PROTECTED
    assert tool(act, category="communicate", idempotent=True).standing is Standing.REPEATABLE
    assert tool(act, category="dangerous").doubts == "human"
    assert tool(act, category="dangerous", doubts="model").doubts == "model"
    assert tool(act, category="of my own").standing is Standing.UNDECLARED
    assert tool(act).doubts == "model"


def test_unset_policies_are_told_apart_from_off() -> None:
    """What is not said is the harness's to say; None is off."""

    def act() -> None: ...

    policy = tool(act, retry=None, timeout_s=2, isolation="process").policy
    assert policy.retry is None
    assert policy.breaker is UNSET
    assert policy.timeout == Timeout(attempt_s=2)
    assert policy.isolation == Isolation("process")
    assert tool(act).policy.isolation is UNSET
    assert tool(act, isolation=Isolation("process", memory_mb=64)).isolation == "process"
    assert tool(act, retry=Retry(max_attempts=2)).policy.retry == Retry(max_attempts=2)


def test_replace_gives_a_checked_copy() -> None:
    """A changed copy is built anew; the original stays as it was."""
    other = get_weather.replace(name="weather", read_only=None, roles={"ops"})
    assert (other.name, other.standing, other.roles) == ("weather", Standing.UNDECLARED, {"ops"})
    assert get_weather.name == "get_weather"
    assert other.policy.timeout == Timeout(attempt_s=3)
    with pytest.raises(UsageError):
        get_weather.replace(destructive=True)
    with pytest.raises(AttributeError, match="replace"):
        get_weather.name = "x"
    assert copy.copy(get_weather).name == "get_weather"


def test_replace_of_the_body_keeps_everything_else() -> None:
    """Another body may be put behind the same parameters."""

    def fake(**values: object) -> object:
        return values

    other = get_weather.replace(fn=fake)
    assert other.schema is get_weather.schema
    assert other.fn(a=1) == {"a": 1}
    assert not other.is_async
    assert other.replace(name="renamed").fn(a=1) == {"a": 1}


def test_parameter_names_that_pydantic_knows() -> None:
    """Common words such as `schema`, `json` or `copy` are fine as parameters, without a warning."""

    @tool
    def act(schema: str, json: str, copy: bool = False, model_name: str = "m", validate: int = 1) -> str:
        """Act."""
        return f"{schema} {json} {copy} {model_name} {validate}"

    values = act.parse({"schema": "s", "json": "j", "copy": True}).values
    assert act.fn(**values) == "s j True m 1"


def test_defaults_that_json_cannot_hold() -> None:
    """A sentinel stays a default of the function; the schema says only that the parameter may be left out."""
    missing: Any = object()

    @tool
    def act(n: int | None = missing, at: Point = Point(1)) -> object:
        """Act."""
        return n

    assert "default" not in act.schema["properties"]["n"]
    assert act.schema["properties"]["at"]["default"] == {"x": 1, "y": 0}
    assert act.fn(**act.parse({}).values) is missing


def test_methods_by_any_name_for_self() -> None:
    """A method is known by where it is written, not by what its first parameter is called."""

    class Counter:
        def __init__(this) -> None:
            this.n = 0

        @tool
        async def add(this, n: int) -> int:
            """Add."""
            this.n += n
            return this.n

    counter = Counter()
    assert list(counter.add.schema["properties"]) == ["n"]
    assert asyncio.run(counter.add(2)) == 2
