"""What fits a tool fits what a dialect tells of it, and the other way round."""

import json
from typing import Any, Literal

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from failsoft.tools import Tool
from failsoft.tools.dialects import dialect


class Cat(BaseModel):
    """Meows."""

    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    """Barks."""

    kind: Literal["dog"]


def schema_in(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema inside of any provider's entry."""
    inner = entry.get("function", entry)
    found: dict[str, Any] = next(
        inner[word] for word in ("input_schema", "parameters", "inputSchema") if word in inner
    )
    return found


class Everything(BaseModel):
    """Values for round trips."""

    model_config = ConfigDict(extra="forbid")

    text: str
    count: int = Field(default=1, ge=0)
    ratio: float | None = None
    tags: list[str] = []
    kind: Literal["a", "b"] = "a"
    pet: Cat | Dog | None = Field(default=None, discriminator="kind")


TAKER = Tool.from_model(Everything, lambda **values: values, name="t")
VALIDATORS = {
    name: jsonschema.Draft202012Validator(schema_in(dialect(name).schema_of(TAKER)))
    for name in ("anthropic", "openai", "openai-strict", "lenient", "mcp")
}


ARGUMENTS = st.fixed_dictionaries(
    {"text": st.text(max_size=20)},
    optional={
        "count": st.integers(0, 10**6),
        "ratio": st.none() | st.floats(-1e6, 1e6),
        "tags": st.lists(st.text(max_size=5), max_size=3),
        "kind": st.sampled_from(["a", "b"]),
        "pet": st.none() | st.fixed_dictionaries({"kind": st.just("cat"), "lives": st.integers(0, 9)}),
    },
)


@given(ARGUMENTS)
def test_what_fits_the_original_fits_every_dialect_but_strict(arguments: dict[str, Any]) -> None:
    """No dialect forbids what the tool takes: a dialect may say less, never something else."""
    TAKER.parse(arguments)
    for name in ("anthropic", "openai", "lenient", "mcp"):
        VALIDATORS[name].validate(arguments)


STRICT_ARGUMENTS = st.fixed_dictionaries(
    {
        "text": st.text(max_size=20),
        "count": st.none() | st.integers(0, 10**6),
        "ratio": st.none() | st.floats(-1e6, 1e6),
        "tags": st.none() | st.lists(st.text(max_size=5), max_size=3),
        "kind": st.sampled_from(["a", "b", None]),
        "pet": st.none()
        | st.fixed_dictionaries({"kind": st.just("cat"), "lives": st.none() | st.integers(0, 9)}),
    }
)


@given(STRICT_ARGUMENTS)
def test_arguments_made_for_strict_mode_are_read(arguments: dict[str, Any]) -> None:
    """Whatever the strict schema allows, the tool's own reader takes, nulls and all."""
    assert dialect("openai-strict").schema_of(TAKER)["function"]["strict"] is True
    VALIDATORS["openai-strict"].validate(arguments)
    values = TAKER.parse(json.dumps(arguments)).values
    assert values["text"] == arguments["text"]
    assert values["count"] == (1 if arguments["count"] is None else arguments["count"])
