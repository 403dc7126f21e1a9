"""Corruptions after which nothing may run."""

from __future__ import annotations

import json
import random
from typing import Any

from bench.corruptions import Values, harmful, pick, plain_text, types


@harmful
def cut_in_text(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None or not values[name]:
        return None
    text = json.dumps({**{k: v for k, v in values.items() if k != name}, name: values[name]})
    return (
        values,
        text[: len(text) - 2 - rng.randrange(len(json.dumps(values[name])) - 2)],
        rng.random() < 0.5,
    )


@harmful
def cut_anywhere(rng: random.Random, schema: Values, values: Values) -> Any:
    text = json.dumps(values)
    return values, text[: rng.randrange(1, len(text))], False


@harmful
def cut_and_closed(rng: random.Random, schema: Values, values: Values) -> Any:
    if len(values) < 2:
        return None
    name = list(values)[-1]
    return values, json.dumps({key: item for key, item in values.items() if key != name}), True


@harmful
def cut_python(rng: random.Random, schema: Values, values: Values) -> Any:
    text = repr(values)
    return values, text[: rng.randrange(1, len(text))], False


@harmful
def prose_before(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, f"Sure! Here are the arguments: {json.dumps(values)}", False


@harmful
def prose_after(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, f"{json.dumps(values)}\nI will now wait for the result.", False


@harmful
def two_objects(rng: random.Random, schema: Values, values: Values) -> Any:
    return (
        values,
        json.dumps(values) + rng.choice(["", "\n", ", "]) + json.dumps(dict.fromkeys(values, 1)),
        False,
    )


@harmful
def key_twice(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    return values, f'{json.dumps(values)[:-1]}, {json.dumps(name)}: "something else"}}', False


@harmful
def not_a_number(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "number", "integer")
    if name is None:
        return None
    token = rng.choice(["NaN", "Infinity", "-Infinity", "1e999", "1_000", "0x10", "+5", "1,5"])
    rest = json.dumps({key: item for key, item in values.items() if key != name})[1:-1]
    return values, f"{{{json.dumps(name)}: {token}{', ' if rest else ''}{rest}}}", False


@harmful
def bare_backslashes(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    values[name] = rng.choice(["C:\\Users\\bob\\new.txt", "\\d+\\s", "D:\\data\\table"])
    return values, json.dumps(values).replace("\\\\", "\\"), False


@harmful
def missing_comma(rng: random.Random, schema: Values, values: Values) -> Any:
    parts = [json.dumps({key: item})[1:-1] for key, item in values.items()]
    return (values, "{" + " ".join(parts) + "}", False) if len(parts) > 1 else None


@harmful
def missing_quote(rng: random.Random, schema: Values, values: Values) -> Any:
    text = json.dumps(values)
    places = [i for i, char in enumerate(text) if char == '"' and text[i - 1] != "\\"]
    at = rng.choice(places) if places else None
    return None if at is None else (values, text[:at] + text[at + 1 :], False)


@harmful
def unquoted_value(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    rest = json.dumps({key: item for key, item in values.items() if key != name})[1:-1]
    return values, f"{{{json.dumps(name)}: tmp-files{', ' if rest else ''}{rest}}}", False


@harmful
def empty_value(rng: random.Random, schema: Values, values: Values) -> Any:
    if not values:
        return None
    name = rng.choice(list(values))
    rest = json.dumps({key: item for key, item in values.items() if key != name})[1:-1]
    return values, f"{{{rest}{', ' if rest else ''}{json.dumps(name)}: }}", False


@harmful
def required_missing(rng: random.Random, schema: Values, values: Values) -> Any:
    names = [name for name in schema.get("required", ()) if name in values]
    if not names:
        return None
    gone = rng.choice(names)
    return values, json.dumps({key: item for key, item in values.items() if key != gone}), False


@harmful
def nothing_sent(rng: random.Random, schema: Values, values: Values) -> Any:
    return (values, rng.choice(["", "{}", "null", " "]), False) if schema.get("required") else None


@harmful
def null_for_required(rng: random.Random, schema: Values, values: Values) -> Any:
    names = [n for n in schema.get("required", ()) if isinstance(types(schema, n), str)]
    return (values, json.dumps({**values, rng.choice(names): None}), False) if names else None


@harmful
def unknown_field(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, json.dumps({**values, "explanation": "as asked"}), False


@harmful
def name_in_other_case(rng: random.Random, schema: Values, values: Values) -> Any:
    names = [name for name in values if name.upper() not in schema["properties"]]
    if not names:
        return None
    name = rng.choice(names)
    return values, json.dumps({(k.upper() if k == name else k): v for k, v in values.items()}), False


@harmful
def words_for_number(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "integer", "number")
    words = ["ten", "10 kg", "1,000", "0010", "about 5", "", "5%"]
    return None if name is None else (values, json.dumps({**values, name: rng.choice(words)}), False)


@harmful
def fraction_for_integer(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "integer")
    if name is None:
        return None
    value = rng.choice([values[name] + 0.5, f"{values[name]}.5"])
    return values, json.dumps({**values, name: value}), False


@harmful
def number_for_boolean(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "boolean")
    value = rng.choice([0, 1, "yes", "no", "on", "1"])
    return None if name is None else (values, json.dumps({**values, name: value}), False)


@harmful
def one_for_list(rng: random.Random, schema: Values, values: Values) -> Any:
    name = pick(rng, schema, values, "array")
    if name is None:
        return None
    value = rng.choice(["a, b", "one", 1, {"0": "a"}])
    return values, json.dumps({**values, name: value}), False


@harmful
def object_in_list(rng: random.Random, schema: Values, values: Values) -> Any:
    return values, json.dumps([values]), False


@harmful
def half_character(rng: random.Random, schema: Values, values: Values) -> Any:
    name = plain_text(rng, schema, values)
    if name is None:
        return None
    return values, json.dumps({**values, name: "x?"}).replace("x?", "x\\ud83c"), False
