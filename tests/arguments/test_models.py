"""Readers of pydantic models."""

from __future__ import annotations

import enum
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument


class Color(enum.Enum):
    """Two colours."""

    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    """One branch of a tagged union."""

    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    """The other branch."""

    kind: Literal["dog"]
    bark: bool = False
    owner: str = "nobody"


class Node(BaseModel):
    """A tree."""

    value: int
    children: list[Node] = []


class Everything(BaseModel):
    """Most kinds of fields."""

    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    day: date | None = None
    when: datetime | None = None
    color: Color = Color.RED
    price: Decimal = Decimal(1)
    tree: Node | None = None
    pair: tuple[int, str] | None = None
    counts: dict[str, int] = {}
    either: int | str = 0
    flag: bool = False
    number: int = 0

    @field_validator("counts")
    @classmethod
    def without_x(cls, value: dict[str, int]) -> dict[str, int]:
        """Refuses one key."""
        if "x" in value:
            raise ValueError("x cannot be counted")
        return value

    @model_validator(mode="after")
    def in_range(self) -> Everything:
        """A rule across fields."""
        if self.flag and self.number > 100:
            raise ValueError("number must be at most 100 when flag is set")
        return self


READER = ArgumentReader.for_model(Everything, tool_name="everything")
CAT = {"kind": "cat", "lives": 9}


def refusal(raw: Any, reader: ArgumentReader = READER) -> InvalidArgument:
    """The refusal that `raw` meets."""
    with pytest.raises(InvalidArgument) as caught:
        reader.parse(raw)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "field", "value", "rules"),
    [
        ('{"pet": {"kind": "cat", "lives": "9"}}', "pet", Cat(kind="cat", lives=9), {"text_to_value"}),
        ('{"pet": "{\\"kind\\": \\"dog\\"}"}', "pet", Dog(kind="dog"), {"decoded_text"}),
        ('{"pet": {"kind": "dog", "owner": null}}', "pet", Dog(kind="dog"), {"null_dropped"}),
        ({"pet": CAT, "tree": {"value": 1, "children": [{"value": "2"}]}}, "tree", None, {"text_to_value"}),
        ({"pet": CAT, "pair": ["1", "a"]}, "pair", (1, "a"), {"text_to_value"}),
        ({"pet": CAT, "counts": {"a": "1"}}, "counts", {"a": 1}, {"text_to_value"}),
        ({"pet": CAT, "either": "5"}, "either", "5", set()),
        ({"pet": CAT, "either": "[1]"}, "either", "[1]", set()),
        ('{"pet": {"kind": "cat", "lives": 1}, "number": 2.0}', "number", 2, {"whole_float"}),
        ('{"pet": {"kind": "cat", "lives": 1}, "flag": "true"}', "flag", True, {"text_to_value"}),
        ('{"pet": {"kind": "cat", "lives": 1}, "color": "blue"}', "color", Color.BLUE, set()),
        ('{"pet": {"kind": "cat", "lives": 1}, "day": "2024-05-01"}', "day", date(2024, 5, 1), set()),
        (
            '{"pet": {"kind": "cat", "lives": 1}, "price": 12345678901234567890.5}',
            "price",
            Decimal("12345678901234567890.5"),
            set(),
        ),
        (
            '{"pet": {"kind": "cat", "lives": 1}, "number": 123456789012345678901234567890}',
            "number",
            123456789012345678901234567890,
            set(),
        ),
    ],
)
def test_the_declared_type_decides(raw: Any, field: str, value: Any, rules: set[str]) -> None:
    """What was sent in another spelling becomes what is declared, and only there."""
    parsed = READER.parse(raw)
    if value is not None:
        assert parsed.values[field] == value
        assert type(parsed.values[field]) is type(value)
    assert {repair.rule for repair in parsed.repairs} == rules


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": True},
        {"number": "five"},
        {"number": 1.5},
        {"number": "007"},
        {"flag": 1},
        {"flag": "yes"},
        {"day": 1_700_000_000},
        {"day": "1700000000"},
        {"when": "1700000000"},
        {"when": 1_700_000_000},
        {"color": "RED"},
        {"counts": "a"},
        {"counts": [1]},
        {"tree": {"value": 1, "other": 2}},
        {"Number": 1},
        {"price": "NaN"},
    ],
)
def test_nothing_runs_on_a_lax_reading(wrong: dict[str, Any]) -> None:
    """What pydantic would bend into shape by itself is refused, as text and as a mapping."""
    import json

    assert refusal({"pet": CAT, **wrong}).reason in ("schema_mismatch", "unknown_field")
    assert refusal(json.dumps({"pet": CAT, **wrong})).reason in ("schema_mismatch", "unknown_field")


def test_python_values_are_taken_as_they_are() -> None:
    """A mapping may hold dates, enumerations, tuples and models; a model stays the same object."""
    dog = Dog(kind="dog")
    sent = {
        "pet": dog,
        "day": date(2024, 5, 1),
        "color": Color.BLUE,
        "pair": (1, "a"),
        "price": Decimal("0.1"),
    }
    values = READER.parse(sent).values
    assert {name: values[name] for name in sent} == sent
    assert values["pet"] is dog


def test_rules_of_the_tool_keep_their_text() -> None:
    """What a validator of the tool's own says reaches the model word for word, with its field."""
    error = refusal({"pet": CAT, "flag": True, "number": 500})
    assert "number must be at most 100 when flag is set" in error.message
    error = refusal({"pet": CAT, "counts": {"x": 1}})
    assert error.context["problems"][0]["field"] == "counts"
    assert error.context["problems"][0]["problem"] == "x cannot be counted"


def test_a_wrong_tag_names_all_tags() -> None:
    """A tagged union that is entered with a wrong tag lists the allowed ones."""
    (problem,) = refusal({"pet": {"kind": "fish"}}).context["problems"]
    assert problem["field"] == "pet.kind"
    assert problem["expected"] == '"cat" or "dog"'


def test_doubled_keys_are_seen_at_every_depth() -> None:
    """A key sent twice with different values is refused; with the same value it is read once."""
    for raw in (
        '{"pet": {"kind": "cat", "lives": 1, "lives": 2}}',
        '{"pet": {"kind": "cat", "lives": 1}, "number": 1, "n\\u0075mber": 2}',
        '{"pet": {"kind": "cat", "lives": 1}, "counts": {"a": 1, "a": 2}}',
        '{"pet": {"kind": "cat", "lives": 1}, "number": 1, "number": 1.0}',
    ):
        assert refusal(raw).reason == "ambiguous"
    parsed = READER.parse('{"pet": {"kind": "cat", "lives": 1}, "number": 1, "number": 1}')
    assert [repair.rule for repair in parsed.repairs] == ["duplicate_key"]


class Hidden(BaseModel):
    """A model with fields that the language model must not see."""

    url: str
    key: str
    connection: Any

    @model_validator(mode="after")
    def allowed(self) -> Hidden:
        """A rule that mentions a hidden value."""
        if self.url == "bad":
            raise ValueError(f"not with {self.key}")
        return self


def test_hidden_fields_are_neither_shown_nor_taken() -> None:
    """Hidden fields are not in the schema, not needed, not in the values, and refused when sent."""
    reader = ArgumentReader.for_model(Hidden, tool_name="fetch", hidden=frozenset({"key", "connection"}))
    assert reader.field_names == ("url",)
    assert reader.schema["required"] == ["url"]
    for raw in ('{"url": "x"}', {"url": "x"}):
        assert reader.parse(raw).values == {"url": "x"}
    for raw in ('{"url": "x", "key": "k"}', {"url": "x", "key": "k"}):
        assert refusal(raw, reader).reason == "unknown_field"
    assert "not with None" in refusal({"url": "bad"}, reader).message


def test_the_model_itself_decides_about_unknown_fields() -> None:
    """Unknown fields are refused unless the model's own configuration allows or ignores them."""

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int

    class Deaf(BaseModel):
        model_config = ConfigDict(extra="ignore")
        a: int

    class Plain(BaseModel):
        a: int

    for raw in ('{"a": 1, "b": 2}', {"a": 1, "b": 2}):
        assert ArgumentReader.for_model(Open, tool_name="t").parse(raw).values == {"a": 1, "b": 2}
        assert ArgumentReader.for_model(Deaf, tool_name="t").parse(raw).values == {"a": 1}
        assert refusal(raw, ArgumentReader.for_model(Plain, tool_name="t")).reason == "unknown_field"


def test_aliases_are_what_the_model_sees_and_names_what_the_tool_gets() -> None:
    """Fields are sent by their alias and handed over by their name."""

    class Aliased(BaseModel):
        from_date: date = Field(alias="fromDate")

    reader = ArgumentReader.for_model(Aliased, tool_name="t")
    assert reader.field_names == ("fromDate",)
    assert reader.parse('{"fromDate": "2024-05-01"}').values == {"from_date": date(2024, 5, 1)}
    assert refusal('{"from_date": "2024-05-01"}', reader).context["did_you_mean"] == ["fromDate"]


def test_bytes_have_the_spelling_that_the_model_names() -> None:
    """Bytes declared as base64 are decoded, whether text or a mapping was sent."""

    class Upload(BaseModel):
        model_config = ConfigDict(val_json_bytes="base64", extra="forbid")
        data: bytes

    reader = ArgumentReader.for_model(Upload, tool_name="t")
    for raw in ('{"data": "aGk="}', {"data": "aGk="}, {"data": b"hi"}):
        assert reader.parse(raw).values == {"data": b"hi"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400 + ".0"])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    """NaN, infinity and what overflows a float are refused wherever a number or anything may stand."""

    class Numbers(BaseModel):
        a: float = 0.0
        b: list[float] = []
        c: dict[str, Any] = {}

    reader = ArgumentReader.for_model(Numbers, tool_name="t")
    for raw in (f'{{"a": {number}}}', f'{{"b": [1.5, {number}]}}', f'{{"c": {{"x": {number}}}}}'):
        assert refusal(raw, reader).reason == "bad_json"
    for value in (float("nan"), float("inf")):
        for sent in ({"a": value}, {"b": [value]}, {"c": {"x": value}}):
            assert refusal(sent, reader).reason == "bad_json"


def test_half_characters_in_a_mapping_are_joined_or_refused() -> None:
    """Two halves of a character in a mapping become one; a lone half is refused."""

    class Note(BaseModel):
        text: str
        more: dict[str, Any] = {}

    reader = ArgumentReader.for_model(Note, tool_name="t")
    assert reader.parse({"text": "\ud83c\udf4a"}).values["text"] == "\U0001f34a"
    assert refusal({"text": "\ud83c"}, reader).reason == "bad_json"
    assert refusal({"text": "x", "more": {"a": ["\ud83c"]}}, reader).reason == "bad_json"
