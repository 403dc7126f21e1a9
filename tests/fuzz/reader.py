"""Coverage-guided fuzzing of the argument reader by atheris, which is not among the locked requirements.

    pip install atheris
    python -m tests.fuzz.reader -max_total_time=3600 FOLDER

`seeds.txt` holds the inputs that an hour of it kept, in base64, one a line;
`tests/arguments/test_seeds.py` reads them in the ordinary tests.

Promise: whatever the bytes, the reader gives values that fit the schema, or raises `InvalidArgument`.
"""

import sys

import atheris

with atheris.instrument_imports(include=["failsoft.arguments"]):
    from failsoft.arguments import ArgumentReader

import jsonschema_rs

from failsoft.core.errors import InvalidArgument

SCHEMAS = [
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["path"],
    },
    {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}},
            "meta": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
            "mode": {"enum": ["fast", "slow", 3]},
            "on": {"type": "boolean"},
            "when": {"type": "string", "format": "date"},
        },
        "additionalProperties": False,
    },
]
READERS = [
    (ArgumentReader.for_schema(schema, tool_name="tool"), jsonschema_rs.validator_for(schema))
    for schema in SCHEMAS
]


def one_input(data: bytes) -> None:
    """Read one input with every schema, as bytes and as text."""
    for reader, validator in READERS:
        for raw in (
            data,
            data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace") if _decodes(data) else data,
        ):
            try:
                values = reader.parse(raw).values
            except InvalidArgument:
                continue
            if not validator.is_valid(values):
                raise AssertionError(f"values that do not fit: {values!r}")


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
