"""Readers of foreign JSON Schemas, and the problems they tell."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

import jsonschema
import pytest

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument, UsageError

DRAFT_7: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {
        "node": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/definitions/node"}},
            "required": ["v"],
        }
    },
    "type": "object",
    "properties": {
        "node": {"$ref": "#/definitions/node"},
        "pair": {"type": "array", "items": [{"type": "integer"}, {"type": "boolean"}]},
        "one": {
            "oneOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]},
            ]
        },
        "when": {"type": "string", "format": "date-time"},
    },
    "additionalProperties": {"type": "integer"},
}


def refusal(schema: dict[str, Any], raw: Any) -> InvalidArgument:
    """The refusal that `raw` meets."""
    with pytest.raises(InvalidArgument) as caught:
        ArgumentReader.for_schema(schema, tool_name="t").parse(raw)
    return caught.value


def test_coercion_follows_references_unions_tuples_and_additional_properties() -> None:
    """Every part of a schema that says what is declared is followed, at every depth."""
    raw = (
        '{"node": {"v": "1", "next": {"v": "2", "next": null}}, "pair": ["1", "true"],'
        ' "one": {"b": "true"}, "other": "5"}'
    )
    parsed = ArgumentReader.for_schema(DRAFT_7, tool_name="t").parse(raw)
    assert parsed.values == {
        "node": {"v": 1, "next": {"v": 2}},
        "pair": [1, True],
        "one": {"b": True},
        "other": 5,
    }
    assert {repair.field for repair in parsed.repairs} >= {"node.next.next", "pair[1]", "one.b", "other"}


def test_a_union_with_two_results_is_left_alone() -> None:
    """A value that two branches would read differently is refused."""
    schema = {
        "type": "object",
        "properties": {
            "x": {
                "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]},
                    {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "null"}}},
                ]
            }
        },
    }
    assert ArgumentReader.for_schema(schema, tool_name="t").parse('{"x": {"a": "[1]"}}').values == {
        "x": {"a": [1]}
    }
    assert refusal(schema, '{"x": {"a": "one"}}').reason == "schema_mismatch"


def test_python_values_become_json_values() -> None:
    """A mapping with Python values is read as its JSON form."""
    parsed = ArgumentReader.for_schema(DRAFT_7, tool_name="t").parse(
        {"when": datetime(2024, 1, 1), "node": {"v": 2.0}}
    )
    assert parsed.values == {"when": "2024-01-01T00:00:00", "node": {"v": 2}}
    assert type(parsed.values["node"]["v"]) is int


def test_defaults_stay_with_whoever_owns_the_schema() -> None:
    """Absent fields with a default stay absent."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 5}}}
    assert ArgumentReader.for_schema(schema, tool_name="t").parse(None).values == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "whatever"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://schemas.invalid/a.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_when_the_reader_is_built(schema: dict[str, Any]) -> None:
    """Wrong types, missing definitions and schemas on the network are told to the developer."""
    with pytest.raises(UsageError, match="JSON Schema"):
        ArgumentReader.for_schema(schema, tool_name="t")


PROBLEMS = [
    (
        {"type": "integer", "minimum": 1, "maximum": 9},
        12,
        "is too large",
        "an integer, at least 1, at most 9",
    ),
    (
        {"type": "string", "pattern": "^a+$"},
        "b",
        "does not match the pattern",
        "text, matching the pattern ^a+$",
    ),
    ({"enum": ["red", "blue"]}, "RED", "is not an allowed value", 'one of "red", "blue"'),
    (
        {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
        [1, 2],
        "has too many items",
        "a list, each item",
    ),
    (
        {"type": ["string", "null"], "maxLength": 2},
        "abc",
        "is too long",
        "null or text, at most 2 characters",
    ),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1], "fits none", "an integer or null"),
    ({"type": "string", "format": "date"}, "May 1, 2024", "is not written", "a date written YYYY-MM-DD"),
    ({"type": "object", "properties": {"a": {}, "b": {}}}, 5, "has the wrong type", "an object with a, b"),
]


@pytest.mark.parametrize(("sub", "value", "problem", "expected"), PROBLEMS)
def test_a_problem_says_what_came_and_what_was_expected(
    sub: dict[str, Any], value: Any, problem: str, expected: str
) -> None:
    """Every problem names its field, what came, what was expected in words, and an example that validates."""
    (found,) = refusal({"type": "object", "properties": {"x": sub}}, {"x": value}).context["problems"]
    assert found["field"] == "x"
    assert found["problem"].startswith(problem)
    assert expected in found["expected"]
    assert json.loads(found["got"]) == value
    if "example" in found:
        jsonschema.validate(found["example"], sub)
    else:
        assert "did_you_mean" in found or "pattern" in sub


@pytest.mark.parametrize(
    ("sent", "iso"),
    [
        ("2024/05/01", "2024-05-01"),
        ("May 1, 2024", "2024-05-01"),
        ("1st May 2024", "2024-05-01"),
        ("31.12.2024", "2024-12-31"),
        ("2024-05-01T10:00:00Z", "2024-05-01"),
        ("01/02/2024", None),
        ("tomorrow", None),
    ],
)
def test_dates_in_other_spellings_are_suggested_and_not_taken(sent: str, iso: str | None) -> None:
    """A date with one meaning is suggested in its ISO spelling; one with two meanings is not."""
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    assert refusal(schema, {"day": sent}).context["problems"][0].get("did_you_mean") == iso


def test_near_names_are_suggested_and_never_renamed() -> None:
    """A name in wrong case or with a slip is refused, with the right one beside it."""
    schema = {
        "type": "object",
        "properties": {"user_id": {"type": "integer"}, "city": {"type": "string"}},
        "additionalProperties": False,
    }
    for sent in ("userId", "USER_ID", "user-id", "user_ids"):
        error = refusal(schema, {sent: 1})
        assert error.reason == "unknown_field"
        assert error.context["did_you_mean"] == ["user_id"]
        assert error.context["allowed"] == ["user_id", "city"]


def test_a_missing_field_is_named_with_its_type() -> None:
    """A missing field is named together with what is expected there."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert "n is missing (expected an integer)" in refusal(schema, "").message


def test_many_problems_in_a_large_input_give_a_small_message_soon() -> None:
    """Thousands of problems are counted, the first ones told, within seconds and two thousand characters."""
    schema = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"p": {"type": "integer"}}}}
        },
    }
    raw = json.dumps({"items": [{"p": "x" * 40}] * 20_000, "y" * 300: 1})
    begin = time.perf_counter()
    error = refusal(schema, raw)
    assert time.perf_counter() - begin < 10
    assert len(error.context["problems"]) == 8
    assert error.context["more_problems"] > 900
    assert len(str(error.context)) < 2000


def test_no_library_shows_through() -> None:
    """Messages name no class, no library and no link."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    for raw in ("{", "[]", '{"a": "x"}', '{"a": 1, "a": 2}', '{"a": [1}', "\ud800", b"\xff"):
        error = refusal(schema, raw)
        text = f"{error.message} {error.suggestion} {error.context}".casefold()
        for word in ("pydantic", "jsonschema", "jiter", "http", "traceback", "valueerror"):
            assert word not in text
