"""Tool lists as each provider wants them, checked by the providers' own types."""

import copy
import json
import warnings
from typing import Any, Literal

import jsonschema
import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import BaseModel, Field, TypeAdapter

from failsoft.core.errors import InvalidArgument, UsageError
from failsoft.tools import Tool, tool
from failsoft.tools.dialects import DIALECTS, dialect

SDK_TYPES = {
    "anthropic": ToolParam,
    "openai": ChatCompletionFunctionToolParam,
    "openai-strict": ChatCompletionFunctionToolParam,
    "lenient": ChatCompletionFunctionToolParam,
    "openai-responses": FunctionToolParam,
}


def check_by_sdk(name: str, entry: dict[str, Any]) -> None:
    """Validate an entry by the SDK's own type, extra keys refused."""
    if name in SDK_TYPES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TypeAdapter(SDK_TYPES[name]).validate_python(entry)
        assert set(entry) <= set(SDK_TYPES[name].__annotations__) | {"type"}
    elif name == "mcp":
        from mcp.types import Tool as McpTool

        McpTool.model_validate(entry)


def schema_in(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema inside of any provider's entry."""
    inner = entry.get("function", entry)
    found: dict[str, Any] = next(
        (inner[word] for word in ("input_schema", "parameters", "inputSchema") if word in inner), {}
    )
    return found


def adapted(name: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    """A foreign schema as a dialect sends it."""
    return schema_in(dialect(name).schema_of(Tool.from_schema("t", schema, lambda **values: values)))


class Node(BaseModel):
    """A tree."""

    value: int
    children: list["Node"] = []


class Cat(BaseModel):
    """Meows."""

    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    """Barks."""

    kind: Literal["dog"]


@tool(read_only=True)
def everything(
    tree: Node,
    pet: Cat | Dog = Field(discriminator="kind"),
    pair: tuple[int, str] = (1, "a"),
    counts: dict[str, int] | None = None,
    size: float = Field(default=1.5, gt=0, lt=10),
    codes: Literal[1, 2] = 1,
    free: dict[str, Any] = Field(default_factory=dict),
) -> None:
    """Takes everything."""


@pytest.mark.parametrize("name", DIALECTS)
def test_every_entry_is_what_the_sdk_declares(name: str) -> None:
    """The providers' own types accept the entry, it is JSON, and the tool's schema is left alone."""
    before = copy.deepcopy(everything.schema)
    entry = dialect(name).schema_of(everything)
    check_by_sdk(name, entry)
    assert json.loads(json.dumps(entry)) == entry
    entry.clear()
    assert everything.schema == before
    assert all(isinstance(line, str) for line in dialect(name).drops(everything))


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "gemini"])
@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "object", "properties": None}])
def test_no_parameters_are_an_object_with_empty_properties(name: str, schema: dict[str, Any] | None) -> None:
    """One bad tool makes a provider refuse the whole request, so nothing less than this is sent."""
    sent = adapted(name, schema)
    assert sent["type"] == "object"
    assert sent["properties"] == {}
    if name in ("lenient", "openai-strict"):
        assert sent["additionalProperties"] is False


def test_gemini_gets_no_parameters_where_there_are_none() -> None:
    """An object without properties is refused there; a declaration without parameters is not."""
    entry = dialect("gemini").schema_of(Tool.from_schema("ping", {}, lambda: None))
    assert entry == {"name": "ping", "description": "ping"}


UNION = {
    "type": "object",
    "properties": {"v": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "string"}},
    "anyOf": [{"required": ["v"]}, {"required": ["a", "b"]}],
}


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "mcp"])
def test_unions_at_the_top_are_merged_said_in_words_and_still_enforced(name: str) -> None:
    """The provider gets one object, the model reads the rule, and the reader keeps to the original."""
    made = Tool.from_schema("t", UNION, lambda **values: values, description="Find.")
    entry = dialect(name).schema_of(made)
    sent = schema_in(entry)
    assert not {"anyOf", "oneOf", "allOf"} & set(sent)
    assert sent["type"] == "object"
    assert set(sent["properties"]) == {"v", "a", "b"}
    description = entry.get("function", entry)["description"]
    assert "At least one of these must be given: v; or a and b." in description
    assert any("only in the description" in line for line in dialect(name).drops(made))
    with pytest.raises(InvalidArgument):
        made.parse({"a": "1"})
    assert made.parse({"a": "1", "b": "2"}).values == {"a": "1", "b": "2"}


def test_alternatives_with_properties_of_their_own() -> None:
    """Properties of all alternatives are kept; what only some require is not required; a tag becomes a choice."""
    schema = {
        "type": "object",
        "oneOf": [{"$ref": "#/$defs/Mail"}, {"$ref": "#/$defs/Call"}],
        "properties": {"when": {"type": "string"}},
        "required": ["when"],
        "$defs": {
            "Mail": {
                "type": "object",
                "properties": {"kind": {"const": "mail"}, "to": {"type": "string"}},
                "required": ["kind", "to"],
            },
            "Call": {
                "type": "object",
                "properties": {"kind": {"const": "call"}, "number": {"type": "integer"}},
                "required": ["kind", "number"],
            },
        },
    }
    made = Tool.from_schema("t", schema, lambda **values: values)
    entry = dialect("anthropic").schema_of(made)
    sent = entry["input_schema"]
    assert sent["required"] == ["when", "kind"]
    assert sent["properties"]["kind"] == {"anyOf": [{"const": "mail"}, {"const": "call"}]}
    assert set(sent["properties"]) == {"when", "kind", "to", "number"}
    assert "Exactly one" in entry["description"]
    assert "kind = 'mail' and to; or kind = 'call' and number" in entry["description"]


def test_all_of_at_the_top_is_one_object() -> None:
    """Parts that all hold are put together, requirements and all, and nothing is lost."""
    schema = {
        "allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {}}}]
    }
    sent = adapted("openai", schema)
    assert sent == {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}


def test_strict_requires_everything_and_makes_optionals_nullable() -> None:
    """Optional becomes nullable, extras are forbidden at every depth, and a null goes back to "not given"."""

    class Inner(BaseModel):
        a: int
        b: str = "x"

    @tool
    def act(
        q: str, inner: Inner, limit: int = 10, note: str | None = None, kind: Literal["x", "y"] = "x"
    ) -> None:
        """Act."""

    entry = dialect("openai-strict").schema_of(act)
    assert entry["function"]["strict"] is True
    sent = schema_in(entry)
    assert set(sent["required"]) == {"q", "inner", "limit", "note", "kind"}
    assert sent["properties"]["limit"]["type"] == ["integer", "null"]
    assert sent["properties"]["limit"]["description"] == "Null for the default, 10."
    assert sent["properties"]["kind"]["enum"] == ["x", "y", None]
    inner = sent["$defs"]["Inner"]
    assert (inner["required"], inner["additionalProperties"]) == (["a", "b"], False)
    values = act.parse(
        {"q": "a", "inner": {"a": 1, "b": None}, "limit": None, "note": None, "kind": None}
    ).values
    assert (values["limit"], values["kind"], values["inner"].b) == (10, "x", "x")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}}}, "any name"),
        ({"properties": {"m": {"type": "object"}}}, "without named properties"),
        ({"properties": {"m": {}}}, "may be anything"),
        ({"properties": {"m": {"type": "array"}}}, "no single type"),
    ],
)
def test_what_has_no_strict_form_is_sent_without_strict(schema: dict[str, Any], reason: str) -> None:
    """A schema outside of the strict subset would be refused, so it goes out as an ordinary one, and that is said."""
    made = Tool.from_schema("t", schema, lambda **values: values)
    entry = dialect("openai-strict").schema_of(made)
    assert "strict" not in entry["function"]
    assert reason in dialect("openai-strict").drops(made)[0]


@pytest.mark.parametrize("name", ["lenient", "gemini"])
def test_references_are_written_out_and_recursion_ends(name: str) -> None:
    """A tree type becomes a finite schema, and what was cut is said."""
    entry = dialect(name).schema_of(everything)
    text = json.dumps(entry)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "const" not in text
    assert "oneOf" not in text
    assert "exclusive" not in text
    assert any("recursion" in line for line in dialect(name).drops(everything))
    children = schema_in(entry)["properties"]["tree"]["properties"]["children"]
    assert "value" in children["items"]["properties"]


def test_references_that_multiply_are_bounded() -> None:
    """Ten definitions of ten references each would be ten thousand million parts; the schema stays small."""
    defs = {
        f"D{n}": {"type": "object", "properties": {f"p{i}": {"$ref": f"#/$defs/D{n + 1}"} for i in range(10)}}
        for n in range(9)
    }
    defs["D9"] = {"type": "string"}
    made = Tool.from_schema("t", {"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": defs}, lambda **v: v)
    entry = dialect("lenient").schema_of(made)
    assert len(json.dumps(entry)) < 1_000_000
    assert any("not written out" in line for line in dialect("lenient").drops(made))


def test_gemini_subset() -> None:
    """Null is a flag, only text is enumerated, unknown formats are said in words, free objects are text."""
    sent = adapted(
        "gemini",
        {
            "properties": {
                "day": {"type": "string", "format": "date", "description": "The day"},
                "n": {"type": ["integer", "null"], "enum": [1, 2, None]},
                "e": {"enum": ["a", "b"]},
                "o": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Opt."},
                "m": {"type": "object", "description": "Any"},
                "u": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
                "p": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
                "x": {},
                "l": {"type": "array"},
                "mixed": {"enum": [1, "a", None]},
            },
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "additionalProperties": False,
        },
    )
    assert sent["properties"] == {
        "day": {"type": "string", "description": "The day. Format: date."},
        "n": {"type": "integer", "nullable": True, "description": "One of: 1, 2."},
        "e": {"type": "string", "enum": ["a", "b"]},
        "o": {"type": "string", "nullable": True, "description": "Opt."},
        "m": {"type": "string", "description": "Any. The text of a JSON object."},
        "u": {"anyOf": [{"type": "string", "nullable": True}, {"type": "integer", "nullable": True}]},
        "x": {"type": "string"},
        "l": {"type": "array", "items": {"type": "string"}},
        "mixed": {"type": "string", "nullable": True, "description": 'One of: 1, "a".'},
        "p": {"type": "integer", "minimum": 1},
    }
    assert set(sent) == {"type", "properties"}


def test_the_text_of_an_object_is_read_where_gemini_was_told_to_send_it() -> None:
    """What a dialect asks for, the reader takes."""
    made = Tool.from_schema("t", {"properties": {"m": {"type": "object"}}}, lambda **values: values)
    assert made.parse({"m": '{"a": 1}'}).values == {"m": {"a": 1}}


def test_mcp_keeps_everything_and_claims_only_what_is_declared() -> None:
    """MCP takes all of JSON Schema; hints are sent where they were declared."""
    entry = dialect("mcp").schema_of(everything)
    assert entry["inputSchema"] == everything.schema
    assert entry["annotations"] == {"readOnlyHint": True}
    assert dialect("mcp").drops(everything) == []
    odd = Tool.from_schema("catalog.get entity", {}, lambda: None)
    assert dialect("mcp").schema_of(odd) == {
        "name": "catalog.get entity",
        "inputSchema": {"type": "object", "properties": {}},
    }


def test_names_are_made_safe() -> None:
    """A name that a provider would refuse is sent as an alias, and that is said."""
    odd = Tool.from_schema("catalog.get-entity", {}, lambda: None)
    entry = dialect("openai").schema_of(odd)
    assert entry["function"]["name"].startswith("catalog_get-entity_")
    assert dialect("openai").drops(odd) == [f"the name is sent as {entry['function']['name']!r}"]


@pytest.mark.parametrize("name", DIALECTS)
def test_parameter_names_are_made_safe_and_understood(name: str) -> None:
    """One odd parameter name makes a provider refuse every request; the alias is read back as the parameter."""
    schema = {
        "properties": {"$filter": {"type": "string"}, "a.b-c": {"type": "integer"}},
        "required": ["$filter"],
    }
    made = Tool.from_schema("t", schema, lambda **values: values)
    sent = schema_in(dialect(name).schema_of(made))
    alias = sent["required"][0]
    assert set(sent["properties"]) == {alias, "a.b-c"}
    assert (alias == "$filter") == (name == "mcp")
    assert made.parse({alias: "x", "a.b-c": 1}).values == {"$filter": "x", "a.b-c": 1}
    assert made.parse(json.dumps({"$filter": "x"})).values == {"$filter": "x"}
    with pytest.raises(InvalidArgument):
        made.parse({"nobody": "x"})
    if name != "mcp":
        assert f"the parameter '$filter' is sent as {alias!r}" in dialect(name).drops(made)
        with pytest.raises(InvalidArgument):
            made.parse({alias: "x", "$filter": "y"})


OLD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "pair": {
            "type": "array",
            "items": [{"type": "string"}, {"type": "integer"}],
            "additionalItems": False,
        },
        "list": {"type": "array"},
        "any": True,
        "inner": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]},
    },
    "required": ["q"],
}


@pytest.mark.parametrize("name", [name for name in DIALECTS if name != "mcp"])
def test_older_drafts_are_sent_in_todays_words(name: str) -> None:
    """Providers check against draft 2020-12 and against habits of their own; every one gets a schema that holds there."""
    made = Tool.from_schema("t", OLD, lambda **values: values)
    sent = schema_in(dialect(name).schema_of(made))
    jsonschema.Draft202012Validator.check_schema(sent)
    assert "$schema" not in sent
    assert "q" in sent["properties"]
    assert "m" in sent["properties"]["inner"]["properties"]
    assert isinstance(sent["properties"]["any"], dict)
    if name != "anthropic":
        assert "items" in sent["properties"]["list"]
        assert isinstance(sent["properties"]["pair"]["items"], dict | bool)


def test_unknown_dialects_are_named() -> None:
    """The list of dialects is in the message; an underscore is as good as a dash."""
    assert dialect("openai_strict") is DIALECTS["openai-strict"]
    with pytest.raises(UsageError, match="openai-responses"):
        dialect("cohere")
