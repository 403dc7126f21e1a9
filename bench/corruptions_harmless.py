"""Corruptions that leave one meaning."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from bench.corruptions import Values, absent, harmless, pick, plain_text


@harmless
def fence_json(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, f"```json\n{json.dumps(values)}\n```", False


@harmless
def fence_bare(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, f"\n```\n{json.dumps(values, indent=2)}\n```\n", False


@harmless
def double_encoded(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, json.dumps(json.dumps(values)), False


@harmless
def fenced_double_encoded(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, f"```json\n{json.dumps(json.dumps(values))}\n```", False


@harmless
def trailing_comma(rng: random.Random, schema: Values, values: Values) -> Any:
    return (values, json.dumps(values)[:-1] + rng.choice([",}", ", }", ",\n}"]), False) if values else None


@harmless
def trailing_comma_inside(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "array")
    if name is None or not values[name]:
        return None
    inner = json.dumps(values[name])
    rest = json.dumps({key: item for key, item in values.items() if key != name})[1:-1]
    return values, f"{{{json.dumps(name)}: {inner[:-1]},]{', ' if rest else ''}{rest}}}", False


@harmless
def line_comment(rng: random.Random, schema: Values, values: Values) -> Any:
    text = json.dumps(values, indent=2)
    return values, text.replace("{\n", '{\n  // as asked, it\'s for "now"\n', 1), False


@harmless
def block_comment(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, json.dumps(values)[:-1] + " /* done: } */ }", False


@harmless
def raw_newline(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = f"{values[name]}\nand a second line\twith a tab"
    return values, json.dumps(values).replace("\\n", "\n").replace("\\t", "\t"), False


@harmless
def python_repr(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, repr(values), False


@harmless
def python_apostrophe(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = f"{values[name]} isn't {rng.choice(['', 'so'])}"
    return values, repr(values), False


@harmless
def python_both_quotes(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = f'{values[name]} isn\'t "so"'
    return values, repr(values), False


@harmless
def python_words(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "boolean")
    if name is None:
        return None
    text = json.dumps(values)
    return values, re.sub(r"(?<=: )(true|false|null)(?=[,}])", lambda m: _PYTHON[m.group()], text), False


_PYTHON = {"true": "True", "false": "False", "null": "None"}


@harmless
def container_as_text(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "array", "object")
    if name is None:
        return None
    return values, json.dumps({**values, name: json.dumps(values[name])}), False


@harmless
def container_as_python_text(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "array", "object")
    if name is None:
        return None
    return values, json.dumps({**values, name: repr(values[name])}), False


@harmless
def number_as_text(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "integer", "number")
    return None if name is None else (values, json.dumps({**values, name: json.dumps(values[name])}), False)


@harmless
def boolean_as_text(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "boolean")
    return None if name is None else (values, json.dumps({**values, name: json.dumps(values[name])}), False)


@harmless
def whole_float(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "integer")
    if name is None or abs(values[name]) > 2**50:
        return None
    return values, json.dumps({**values, name: float(values[name])}), False


@harmless
def null_for_optional(rng: random.Random, schema: Values, values: Values) -> Any:
    name = absent(rng, schema, values)
    return None if name is None else (values, json.dumps({**values, name: None}), False)


@harmless
def byte_order_mark(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, "\ufeff" + json.dumps(values), False


@harmless
def blanks_around(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, " \n\t" + json.dumps(values, indent=1) + "\r\n ", False


@harmless
def same_key_twice(rng: random.Random, schema: Values, values: Values) -> Any:
    if not values:
        return None
    name = rng.choice(list(values))
    return values, f"{json.dumps(values)[:-1]}, {json.dumps({name: values[name]})[1:]}", False


@harmless
def escaped_pair(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = f"{values[name]} \U0001f34a"
    return values, json.dumps(values)[:-1] + ",}", False


@harmless
def text_like_json(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = rng.choice(
        ["01234", "[1, 2]", '{"k": 5}', "true", "null", "3.0", "1e5", "'x'", "// no", "a,}"]
    )
    return values, f"```\n{json.dumps(values)[:-1]},}}\n```", False
