"""Inputs that coverage-guided fuzzing found interesting, kept: none reaches a tool unvalidated or raises anything else."""

import base64
from pathlib import Path

import jsonschema_rs
import pytest

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument

SEEDS = [
    base64.b64decode(line) for line in (Path(__file__).parents[1] / "fuzz" / "seeds.txt").read_text().split()
]
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "n": {"type": "integer"},
        "tags": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
        "mode": {"enum": ["fast", "slow", 3]},
    },
}


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_a_kept_input_is_read_or_refused(number):
    """Values that fit the schema, or `InvalidArgument`."""
    reader = ArgumentReader.for_schema(SCHEMA, tool_name="tool")
    try:
        values = reader.parse(SEEDS[number]).values
    except InvalidArgument:
        return
    assert jsonschema_rs.is_valid(SCHEMA, values)
