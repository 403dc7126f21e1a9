"""The shortest way takes exactly what the long way takes, and gives the same."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError, field_validator

from failsoft.arguments.direct import direct_validator
from failsoft.arguments.of_model import ModelReader
from failsoft.core.errors import InvalidArgument


class Plain(BaseModel):
    """A plain signature."""

    a: int
    b: str = "x"
    c: list[int] | None = None
    d: dict[str, float] = {}
    e: Annotated[int, Field(ge=3)] = 4
    f: Literal["u", "v"] = "u"
    g: bool = False


SIMPLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "z"])


def outcome(reader, raw):
    """The values, or the reason of the refusal."""
    try:
        return reader.parse_values(raw)[0]
    except InvalidArgument as exc:
        return exc.reason


@given(st.dictionaries(KEYS, VALUES, max_size=7))
def test_the_direct_way_changes_nothing(raw):
    """With and without the short cut every mapping gets the same answer."""
    short, long = ModelReader(Plain, tool_name="t"), ModelReader(Plain, tool_name="t")
    assert short._directly is not None
    long._directly = None
    long.parse_values = long._direct(False)
    left, right = outcome(short, raw), outcome(long, raw)
    assert left == right
    assert (
        {k: type(v) for k, v in left.items()} == {k: type(v) for k, v in right.items()}
        if isinstance(left, dict)
        else True
    )


def test_a_short_cut_is_taken_for_plain_signatures():
    """A signature of plain types has the direct validator, and it refuses what only lax reading would take."""
    validate = direct_validator(Plain.__pydantic_core_schema__)
    assert validate({"a": 1})["b"] == "x"
    for wrong in (
        {"a": "1"},
        {"a": True},
        {"a": 1, "z": 2},
        {"a": 1.0},
        {"a": 1, "e": 1},
        {"a": 1, "f": "U"},
    ):
        with pytest.raises(ValidationError):
            validate(wrong)


def test_anything_more_goes_the_long_way():
    """Validators, nested models, `Any` and aliases are not plain."""

    class Checked(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def _even(cls, value: int) -> int:
            return value

    class Nested(BaseModel):
        a: Plain

    class Anything(BaseModel):
        a: Any

    class Renamed(BaseModel):
        a: int = Field(alias="A")

    class Extra(BaseModel):
        a: str = Field(json_schema_extra={"pattern": "^x"})

    for model in (Checked, Nested, Anything, Renamed, Extra):
        assert direct_validator(model.__pydantic_core_schema__) is None, model
