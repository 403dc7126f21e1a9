"""Problems written for a model: which field, what came, what was expected, an example that would do.

No class names, no library names, no links; bounded whatever the number of problems and the size of the values.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz, process

from failsoft.arguments.example import NO_EXAMPLE, example_of
from failsoft.arguments.refusals import refuse
from failsoft.arguments.shape import Node
from failsoft.arguments.words import describe, iso_date, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import jsonschema_rs
    from pydantic import ValidationError

    from failsoft.arguments.reader import ArgumentReader
    from failsoft.arguments.shape import Shape
    from failsoft.core.errors import InvalidArgument

__all__ = ["MAX_PROBLEMS", "model_problems", "schema_problems", "unknown_fields"]

MAX_PROBLEMS = 8
_MAX_COUNTED = 1_000
_MAX_ALLOWED = 20
_NEAR = 70
Problem = dict[str, Any]


def schema_problems(
    reader: ArgumentReader, value: Any, validator: jsonschema_rs.Validator
) -> InvalidArgument:
    """The refusal for a value that does not fit the schema."""
    found, count = _by_schema(reader.shape, value, validator)
    return _refusal(reader, value, found, count)


def model_problems(
    reader: ArgumentReader, value: Any, exc: ValidationError, validator: jsonschema_rs.Validator
) -> InvalidArgument:
    """The refusal for a value that the model refused; what its schema knows is said in the schema's words."""
    found, count = _by_schema(reader.shape, value, validator)
    if exc.error_count() <= _MAX_COUNTED:
        known = {problem["field"] for problem in found}
        for error in exc.errors(include_url=False):
            problem = _by_pydantic(reader.shape, value, error, bool(found))
            if problem is not None and problem["field"] not in known:
                known.add(problem["field"])
                found.append(problem)
                count += 1
    return _refusal(reader, value, found, max(count, 1))


def unknown_fields(reader: ArgumentReader, value: dict[str, Any], names: Sequence[str]) -> InvalidArgument:
    """The refusal for fields that the tool does not have."""
    found = [
        _unknown(reader.shape, reader.shape.root, "", name, value[name]) for name in names[:MAX_PROBLEMS]
    ]
    return _refusal(reader, value, found, len(names))


def _by_schema(shape: Shape, value: Any, validator: jsonschema_rs.Validator) -> tuple[list[Problem], int]:
    """The first problems in full, and how many there are, counted up to a limit."""
    found: dict[tuple[str, str], Problem] = {}
    count = 0
    try:
        for error in islice(validator.iter_errors(value), _MAX_COUNTED):
            count += 1
            if len(found) < MAX_PROBLEMS:
                for problem in _flat(shape, error, 0):
                    found.setdefault((problem["field"], problem["problem"]), problem)
    except ValueError:
        pass
    return list(found.values())[:MAX_PROBLEMS], max(count, len(found)) if count > MAX_PROBLEMS else len(found)


def _flat(shape: Shape, error: Any, depth: int) -> Iterable[Problem]:
    kind = error.kind
    details = kind.as_dict()
    field = _path(error.instance_path)
    node = _node(shape, error.schema_path[:-1])
    if "unexpected" in details:
        for name in details["unexpected"][:MAX_PROBLEMS]:
            yield _unknown(shape, node, field, name, error.instance.get(name))
    elif kind.name in ("required", "dependentRequired") and "property" in details:
        yield _missing(shape, node, field, details["property"])
    elif details.get("context") and depth < 4 and isinstance(error.instance, dict | list):
        yield from _of_branches(shape, error, details["context"], node, depth)
    else:
        yield _wrong(shape, node, field, kind.name, error.instance)


def _of_branches(
    shape: Shape, error: Any, context: list[list[Any]], node: Node, depth: int
) -> Iterable[Problem]:
    """Problems under anyOf or oneOf: of the tag that tells the branches apart, or of the branch that was meant."""
    tags = [[e for e in branch if e.kind.name in ("const", "enum")] for branch in context]
    if all(tags) and len({tuple(branch[0].instance_path) for branch in tags}) == 1:
        nodes = [_node(shape, branch[0].schema_path[:-1]) for branch in tags]
        first = tags[0][0]
        problem = _wrong(shape, nodes[0], _path(first.instance_path), first.kind.name, first.instance)
        yield {**problem, "expected": " or ".join(describe(shape, n) for n in nodes[:MAX_PROBLEMS])}
        return
    chosen = _nearest(error, context)
    if chosen is None:
        yield _wrong(shape, node, _path(error.instance_path), error.kind.name, error.instance)
        return
    for part in chosen[:MAX_PROBLEMS]:
        yield from _flat(shape, part, depth + 1)


def _nearest(error: Any, context: list[list[Any]]) -> list[Any] | None:
    """The errors of the branch that was probably meant: an object or list that was entered, with the fewest errors."""
    at = list(error.instance_path)
    inside = [
        branch
        for branch in context
        if branch and not any(list(e.instance_path) == at and e.kind.name == "type" for e in branch)
    ]
    return min(inside, key=len) if inside else None


def _node(shape: Shape, steps: Sequence[str | int]) -> Node:
    node = shape.root
    for step in steps:
        node = shape.resolve(node) if isinstance(node.schema, dict) and step not in node.schema else node
        try:
            node = node.child(step)
        except (KeyError, IndexError, TypeError):
            return node
    return node


def _wrong(shape: Shape, node: Node, field: str, keyword: str, value: Any) -> Problem:
    problem: Problem = {
        "field": field,
        "problem": _PROBLEMS.get(keyword, "is not valid"),
        "got": shown(value),
        "expected": describe(shape, node),
    }
    near = _near_value(shape.resolve(node).schema, value)
    if near is not None:
        problem["did_you_mean"] = near
    elif (example := example_of(shape, node)) is not NO_EXAMPLE:
        problem["example"] = _small(example)
    return {key: item for key, item in problem.items() if item is not None}


_PROBLEMS = {
    "type": "has the wrong type",
    "enum": "is not an allowed value",
    "const": "is not an allowed value",
    "pattern": "does not match the pattern",
    "format": "is not written as expected",
    "minimum": "is too small",
    "exclusiveMinimum": "is too small",
    "maximum": "is too large",
    "exclusiveMaximum": "is too large",
    "minLength": "is too short",
    "maxLength": "is too long",
    "minItems": "has too few items",
    "maxItems": "has too many items",
    "uniqueItems": "holds an item twice",
    "anyOf": "fits none of the allowed forms",
    "oneOf": "does not fit exactly one of the allowed forms",
}


def _near_value(schema: Any, value: Any) -> Any:
    if not isinstance(schema, dict) or not isinstance(value, str):
        return None
    allowed = [item for item in schema.get("enum") or [schema.get("const")] if isinstance(item, str)]
    if allowed:
        names = near_names(value, allowed)
        return names[0] if names else None
    return iso_date(value) if schema.get("format") == "date" else None


def near_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names that are spelled much like `name`, nearest first."""
    folded = {item: item.casefold().replace("-", "_") for item in known}
    wanted = name[:100].casefold().replace("-", "_")
    hits = process.extract(wanted, folded, scorer=fuzz.ratio, limit=limit, score_cutoff=_NEAR)
    return [key for _, _, key in hits]


def _unknown(shape: Shape, node: Node, field: str, name: str, value: Any) -> Problem:
    allowed = list(shape.resolve(node).schema.get("properties") or ())
    listed = ", ".join(allowed[:_MAX_ALLOWED]) + (", …" if len(allowed) > _MAX_ALLOWED else "")
    problem: Problem = {
        "field": f"{field}.{name[:100]}" if field else name[:100],
        "problem": "is not a parameter" if not field else "is not a field there",
        "got": shown(value),
        "expected": f"only these names: {listed}" if listed else "no parameters at all",
    }
    near = near_names(name, allowed)
    if near:
        problem["did_you_mean"] = near[0]
    return problem


def _missing(shape: Shape, node: Node, field: str, name: str) -> Problem:
    problem: Problem = {
        "field": f"{field}.{name}" if field else name,
        "problem": "is missing",
        "got": "nothing",
        "expected": "a value",
    }
    node = shape.resolve(node)
    if name in (node.schema.get("properties") or {}):
        sub = node.child("properties", name)
        problem["expected"] = describe(shape, sub)
        if (example := example_of(shape, sub)) is not NO_EXAMPLE:
            problem["example"] = _small(example)
    return problem


def _by_pydantic(shape: Shape, value: Any, error: Any, is_told: bool) -> Problem | None:
    """One error of pydantic's; None where the schema has told it already."""
    kind = error["type"]
    steps, node = _locate(shape, value, error["loc"])
    field = _path(steps)
    if kind in ("value_error", "assertion_error"):
        cause = error.get("ctx", {}).get("error")
        text = str(cause) if cause is not None else error["msg"]
        return {"field": field, "problem": text[:300] or "is not valid", **_got(value, steps)}
    if is_told:
        return None
    if kind == "missing":
        return _missing(shape, node, field, str(error["loc"][-1]))
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown(shape, node, field, str(error["loc"][-1]), error.get("input"))
    problem = _wrong(shape, node, field, "", error.get("input"))
    text = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if not any(mark in text for mark in ("instance of", "Input", "class ", "core")):
        problem["expected"] = f"{problem['expected']}; {text[:200]}"
    return problem


def _got(value: Any, steps: Sequence[str | int]) -> Problem:
    if not steps:
        return {}
    for step in steps:
        value = value[step]
    return {"got": shown(value)}


def _locate(shape: Shape, value: Any, loc: Sequence[str | int]) -> tuple[list[str | int], Node]:
    """The steps of a location that exist in the value, and the schema there; names of union branches are passed over."""
    steps: list[str | int] = []
    node = shape.resolve(shape.root)
    for step in loc:
        if isinstance(value, dict) and step in value:
            sub = "properties" if step in (node.schema.get("properties") or {}) else None
            node = shape.resolve(node.child(sub, step)) if sub else Node({}, "/?")
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            has_items = isinstance(node.schema.get("items"), dict)
            node = shape.resolve(node.child("items")) if has_items else Node({}, "/?")
        else:
            continue
        value = value[step]
        steps.append(step)
        if not isinstance(node.schema, dict):
            node = Node({}, "/?")
    return steps, node


def _path(steps: Iterable[str | int]) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step[:100]}" if text else step[:100]
    return text[:200]


def _small(value: Any) -> Any:
    return value if len(json.dumps(value, default=str)) <= 200 else None


def _refusal(reader: ArgumentReader, value: Any, found: list[Problem], count: int) -> InvalidArgument:
    listed = found[:MAX_PROBLEMS]
    kinds = {problem["problem"] for problem in listed}
    unknown = [p for p in listed if p["problem"] in ("is not a parameter", "is not a field there")]
    is_names = bool(unknown) and kinds <= {"is not a parameter", "is not a field there", "is missing"}
    texts = [_sentence(problem) for problem in listed[:3]]
    more = count - len(texts)
    message = f"The arguments do not fit {reader.tool_name}: {'; '.join(texts)}"
    near = [problem["did_you_mean"] for problem in listed if "did_you_mean" in problem]
    return refuse(
        "unknown_field" if is_names else "schema_mismatch",
        message + (f"; and {more} more" if more > 0 else ""),
        suggestion=_advice(unknown, near),
        problems=listed,
        more_problems=max(0, count - len(listed)) or None,
        did_you_mean=near or None,
        allowed=list(reader.field_names[:_MAX_ALLOWED]) if unknown else None,
    )


def _sentence(problem: Problem) -> str:
    # What a validator of the tool's own says is a sentence of its own.
    is_own = not problem["problem"].startswith(("is ", "has ", "does ", "fits ", "holds "))
    text = f"{problem['field'] or 'the object'}{':' if is_own else ''} {problem['problem']}"
    if problem.get("expected"):
        text += f" (expected {problem['expected']}"
        text += f", got {problem['got']})" if problem.get("got", "nothing") != "nothing" else ")"
    return text


def _advice(unknown: list[Problem], near: list[Any]) -> str:
    if near:
        return f"Call again with {', '.join(shown(item, 40) for item in near[:3])} where that was meant."
    if unknown:
        return "Call again without the names that do not exist."
    return "Correct these fields and call again."
