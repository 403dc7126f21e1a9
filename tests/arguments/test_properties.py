"""Properties of the reader: the exact intended value or a refusal, whatever comes."""

from __future__ import annotations

import enum
import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, create_model

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument

NAMES = st.text("abcdefgh_", min_size=1, max_size=6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON_TEXTY = st.sampled_from(
    ["[1, 2]", '{"a": 1}', "true", "1", "null", '"x"', "01", "'a'", "//", "C:\\new", "a\nb", "```", "1e5"]
)
ANY_TEXT = TEXT | JSON_TEXTY
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


def _typed(schema: dict[str, Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values.map(lambda value: (schema, value))


LEAVES = st.one_of(
    _typed({"type": "string"}, ANY_TEXT),
    _typed({"type": "integer"}, st.integers()),
    _typed({"type": "number"}, FINITE | st.integers()),
    _typed({"type": "boolean"}, st.booleans()),
    _typed({"type": ["string", "null"]}, st.none() | ANY_TEXT),
    _typed({"anyOf": [{"type": "integer"}, {"type": "string"}]}, st.integers() | ANY_TEXT),
    _typed({"enum": ["a", 1, None]}, st.sampled_from(["a", 1, None])),
    _typed({}, ANY_JSON),
    _typed({"type": "object"}, st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3)),
)


def _lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return inner.flatmap(
        lambda pair: st.integers(0, 3).map(lambda n: ({"type": "array", "items": pair[0]}, [pair[1]] * n))
    )


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, inner, min_size=1, max_size=4).map(
        lambda fields: (
            {
                "type": "object",
                "properties": {name: pair[0] for name, pair in fields.items()},
                "required": list(fields)[:1],
                "additionalProperties": False,
            },
            {name: pair[1] for name, pair in fields.items()},
        )
    )


PAIRS = st.recursive(LEAVES, lambda inner: _lists(inner) | _objects(inner), max_leaves=6)
TOOLS = _objects(PAIRS)


def same(left: Any, right: Any) -> bool:
    """Equal in value and in JSON type."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@settings(deadline=None, max_examples=150)
@given(tool=TOOLS, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_what_is_valid_comes_back_unchanged(
    tool: tuple[dict[str, Any], dict[str, Any]], ascii_only: bool, indent: int | None
) -> None:
    """Reading the JSON text of valid values gives those values, without a repair."""
    schema, values = tool
    reader = ArgumentReader.for_schema(schema, tool_name="t")
    raw = json.dumps(values, ensure_ascii=ascii_only, indent=indent)
    for sent in (raw, raw.encode(), values):
        parsed = reader.parse(sent)
        assert parsed.values == values
        assert {repair.rule for repair in parsed.repairs} <= {"whole_float"}


@settings(deadline=None, max_examples=100)
@given(tool=TOOLS)
def test_python_spelling_means_the_same(tool: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Values written as Python writes them give the same values, or a refusal."""
    schema, values = tool
    reader = ArgumentReader.for_schema(schema, tool_name="t")
    try:
        parsed = reader.parse(repr(values))
    except InvalidArgument:
        return
    assert same(parsed.values, json.loads(json.dumps(values))) or parsed.values == values


@settings(deadline=None, max_examples=100)
@given(tool=TOOLS, data=st.data())
def test_text_that_was_cut_off_is_never_run(
    tool: tuple[dict[str, Any], dict[str, Any]], data: st.DataObject
) -> None:
    """Every proper beginning of an object's text is refused as cut off, unless nothing at all was sent."""
    schema, values = tool
    raw = json.dumps(values)
    cut = raw[: data.draw(st.integers(1, len(raw) - 1))]
    with pytest.raises(InvalidArgument) as caught:
        ArgumentReader.for_schema(schema, tool_name="t").parse(cut)
    assert caught.value.reason == "truncated"


class Color(enum.Enum):
    """An enumeration for the model below."""

    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    """A nested model."""

    sku: str
    price: float = 0.0
    tags: list[str] = []


class Order(BaseModel):
    """A model with most kinds of fields."""

    model_config = ConfigDict(extra="forbid")

    city: str
    count: int = 1
    day: date | None = None
    color: Color = Color.RED
    items: list[Item] = []
    extra: dict[str, Any] = {}


ORDERS = st.builds(
    Order,
    city=ANY_TEXT,
    count=st.integers(),
    day=st.none() | st.dates(),
    color=st.sampled_from(Color),
    items=st.lists(
        st.builds(Item, sku=ANY_TEXT, price=FINITE, tags=st.lists(ANY_TEXT, max_size=2)), max_size=3
    ),
    extra=st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3),
)
READER = ArgumentReader.for_model(Order, tool_name="order")


@settings(deadline=None, max_examples=100)
@given(order=ORDERS)
def test_a_model_comes_back_from_its_own_text(order: Order) -> None:
    """The JSON text, its mapping and the Python values of a model all give the same validated values."""
    raw = order.model_dump_json()
    for sent in (raw, raw.encode(), json.loads(raw), dict(order)):
        parsed = READER.parse(sent)
        assert parsed.values == dict(order)
        assert not parsed.repairs


SMALL = ArgumentReader.for_model(
    create_model("Small", a=(str, "x"), b=(int, 0), c=(list[int], [])), tool_name="small"
)
LOOSE = ArgumentReader.for_schema({"type": "object"}, tool_name="loose")
MARKS = [
    *"{}[]:,\"'\\/#`-.",
    '"a"',
    '"b"',
    '"c"',
    "'a'",
    "1",
    "-2",
    "1e999",
    "true",
    "None",
    "NaN",
    "\n",
    " ",
]
ODDITIES = ["/*", "*/", "```json", "```", "\\ud83c", "\\udf4a", "\ud800", "\ufeff", "\\n", "x", "é", "\x00"]
PIECES = st.lists(st.sampled_from([*MARKS, *ODDITIES]), max_size=14).map("".join)


def refusal_of(reader: ArgumentReader, raw: Any, truncated: bool) -> InvalidArgument | None:
    """The refusal, or None after a look at what was read."""
    try:
        values = reader.parse(raw, truncated=truncated).values
    except InvalidArgument as error:
        return error
    json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    return None


@settings(deadline=None, max_examples=400)
@given(raw=PIECES | st.text() | st.binary() | PIECES.map(lambda text: '{"a": ' + text + "}"))
def test_any_text_gives_values_or_a_refusal(raw: str | bytes) -> None:
    """No text and no bytes raise anything but `InvalidArgument`, and what is read can be written as UTF-8."""
    for reader in (SMALL, LOOSE):
        error = refusal_of(reader, raw, False)
        if error is not None:
            assert len(error.message) < 1500
            assert "nothing was run" in error.message
        assert refusal_of(reader, raw, True) is not None


@settings(deadline=None, max_examples=100)
@given(value=ANY_JSON, name=st.sampled_from(["a", "b", "c", "d"]))
def test_any_value_gives_values_or_a_refusal(value: Any, name: str) -> None:
    """A mapping of any values is read or refused, and text stays text byte for byte."""
    try:
        parsed = SMALL.parse({name: value})
    except InvalidArgument:
        return
    if name == "a" and value is not None:
        assert parsed.values["a"] == value
    if name == "b" and value is not None:
        assert type(parsed.values["b"]) is int
