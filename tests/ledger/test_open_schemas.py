"""What a schema does not name makes two calls different all the same."""

import pytest

from failsoft import Harness
from failsoft.tools import Tool

OPEN = [
    {"type": "object"},
    {"type": "object", "properties": {}, "additionalProperties": True},
    {"type": "object", "properties": {"to": {"type": "string"}}},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "object", "patternProperties": {"^n": {"type": "integer"}}},
    {"type": "object", "allOf": [{"properties": {"n": {"type": "integer"}}}]},
    {"$ref": "#/$defs/call", "$defs": {"call": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
]


@pytest.mark.parametrize("schema", OPEN, ids=str)
async def test_arguments_that_the_schema_leaves_open_count(schema: dict) -> None:
    """A server that describes its tool loosely does not have one call answered with another one's result."""
    ran = []

    def act(**arguments: object) -> str:
        ran.append(arguments)
        return f"did {arguments['n']}"

    tool = Tool.from_schema("act", schema, act, description="Act.", read_only=False)
    async with Harness([tool], store="memory", builtins=False) as harness:
        first = await harness.call("act", {"n": 1}, run="r")
        second = await harness.call("act", {"n": 2}, run="r")
        again = await harness.call("act", {"n": 1}, run="r")
    assert (first.value, second.value, again.value) == ("did 1", "did 2", "did 1")
    assert (second.replayed, again.replayed) == (False, True)
    assert ran == [{"n": 1}, {"n": 2}]


async def test_names_that_are_given_decide_alone() -> None:
    """`identity=` leaves out what it does not name, declared or not."""
    ran = []
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    tool = Tool.from_schema(
        "act",
        schema,
        lambda **given: ran.append(given),
        description="Act.",
        read_only=False,
        identity=("to",),
    )
    async with Harness([tool], store="memory", builtins=False) as harness:
        for extra in (1, 2):
            await harness.call("act", {"to": "ada", "extra": extra}, run="r")
    assert len(ran) == 1
