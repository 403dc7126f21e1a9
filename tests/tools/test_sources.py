"""Tools from pydantic models and JSON Schemas, and what they promise to return."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from failsoft.core.context import CallContext as RuntimeContext
from failsoft.core.errors import InvalidArgument, InvalidOutput
from failsoft.tools import Tool, tool


class Address(BaseModel):
    """Where somebody lives."""

    city: str
    zip_code: str = "00000"


class Order(BaseModel):
    """Place an order."""

    item: str = Field(description="What to order.")
    count: int = 1

    @model_validator(mode="after")
    def check(self) -> Order:
        """A rule between fields."""
        if self.item == "tea" and self.count > 2:
            raise ValueError("at most two teas")
        return self


def test_from_model_with_keywords_or_the_instance() -> None:
    """A function takes a model's fields, or the validated model itself where it says so."""

    def spread(item: str, count: int) -> str:
        return f"{count} {item}"

    def whole(order: Order, ctx: RuntimeContext) -> Order:
        assert ctx is not None
        return order

    one = Tool.from_model(Order, spread, name="order")
    assert one.fn(**one.parse({"item": "tea"}).values) == "1 tea"
    two = Tool.from_model(Order, whole)
    made = two.fn(**two.parse({"item": "tea", "count": 2}).values, ctx=RuntimeContext("whole", {}))
    assert made == Order(item="tea", count=2)
    assert two(Order(item="x"), RuntimeContext("whole", {})) == Order(item="x")
    assert (two.name, two.description, two.context_parameter) == ("whole", "Place an order.", "ctx")
    assert two.identity == ("item", "count")

    def keyed(order: Order, key: str) -> str:
        return f"{order.item} {key}"

    three = Tool.from_model(Order, keyed, idempotency_key="key")
    assert three.fn(**three.parse({"item": "tea"}).values, key="k1") == "tea k1"
    with pytest.raises(InvalidArgument, match="at most two teas"):
        two.parse({"item": "tea", "count": 3})


def test_from_schema_takes_any_names() -> None:
    """Foreign names need not be identifiers; the schema is kept as it came."""
    schema = {"type": "object", "properties": {"user-id": {"type": "integer", "default": 3}, "$x": {}}}
    made = Tool.from_schema("srv.get", schema, lambda **values: values, description="Get.", read_only=True)
    assert made.fn(**made.parse({"user-id": 4, "$x": None}).values) == {"user-id": 4, "$x": None}
    assert (made.model, made.description, made.defaults) == (None, "Get.", {"user-id": 3})
    assert made.identity == ("user-id", "$x")
    schema["properties"].clear()
    assert set(made.schema["properties"]) == {"user-id", "$x"}


@pytest.mark.parametrize(
    "schema", [None, {}, {"type": "object"}, {"type": "object", "properties": None, "required": None}]
)
def test_from_schema_without_parameters(schema: dict[str, Any] | None) -> None:
    """Whatever a server publishes for "no parameters" is an object without properties."""
    made = Tool.from_schema("ping", schema, lambda: "pong")
    assert made.schema == {"type": "object", "properties": {}}
    assert made.fn(**made.parse(None).values) == "pong"


def test_results_are_checked_where_a_type_is_promised() -> None:
    """`returns` checks and shapes a result; the problems name the field."""

    def act() -> None: ...

    assert tool(act).check_result({"any": 1}) == {"any": 1}
    assert tool(act, returns=Address).check_result({"city": "Rome"}) == Address(city="Rome")
    with pytest.raises(InvalidOutput) as refusal:
        tool(act, returns=list[int]).check_result([1, "x"])
    assert refusal.value.context["problems"][0]["field"] == "1"
    by_schema = tool(act, returns={"type": "array", "items": {"type": "integer"}})
    assert by_schema.check_result([1, 2]) == [1, 2]
    with pytest.raises(InvalidOutput):
        by_schema.check_result("no")
