"""Changes to a JSON Schema that several providers need. Every function leaves its input alone."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["framed", "inlined", "merged_top", "walk", "with_items", "without_root_words"]

# Where schemas sit inside of a schema: keywords that hold one schema, a list of them, a map of them.
SCHEMAS = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
)
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

_MAX_DEPTH = 3
_MAX_NODES = 5_000


def framed(schema: dict[str, Any] | None) -> dict[str, Any]:
    """A deep copy that is at least an object with properties, in the words of draft 2020-12: providers refuse less."""
    made: dict[str, Any] = walk(copy.deepcopy(schema) if isinstance(schema, dict) else {}, _modern)
    made["type"] = "object"
    properties = made.get("properties")
    made["properties"] = properties if isinstance(properties, dict) else {}
    return _with_required_named(made, "")


def _modern(node: dict[str, Any], path: str) -> dict[str, Any]:
    """Older spellings in today's words. Anthropic checks every schema against draft 2020-12."""
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(word), bool) and node.pop(word) and bound in node:  # draft 4
            node[word] = node.pop(bound)
    if isinstance(node.get("items"), list):  # up to 2019-09
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in node:
            node["items"] = node.pop("additionalItems")
    if "required" in node and not isinstance(node["required"], list):  # draft 3, and null
        del node["required"]
    if "properties" in node:
        properties = node["properties"] if isinstance(node["properties"], dict) else {}
        node["properties"] = {name: {} if part is True else part for name, part in properties.items()}
    return _with_required_named(node, path)


def _with_required_named(node: dict[str, Any], path: str) -> dict[str, Any]:
    """A required property that is not described is at least named where there are others; OpenAI refuses it otherwise."""
    required = node.get("required")
    if (
        node.get("type") == "object"
        and isinstance(node.get("properties"), dict)
        and isinstance(required, list)
    ):
        for name in required:
            node["properties"].setdefault(name, {})
    return node


def with_items(schema: dict[str, Any]) -> dict[str, Any]:
    """Lists whose items are not described get the empty description, which means the same.

    OpenAI refuses them otherwise: "array schema missing items".
    """

    def change(node: dict[str, Any], path: str) -> dict[str, Any]:
        kinds = node.get("type")
        if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in node:
            return {**node, "items": {}}
        return node

    made: dict[str, Any] = walk(schema, change)
    return made


def walk(schema: Any, change: Callable[[dict[str, Any], str], Any], path: str = "") -> Any:
    """Apply `change(node, path)` to every schema, inner ones first; what it returns takes the node's place."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for word in MAPS:
        if isinstance(made.get(word), dict):
            made[word] = {name: walk(part, change, _at(path, name)) for name, part in made[word].items()}
    for word in LISTS:
        if isinstance(made.get(word), list):
            made[word] = [walk(part, change, path) for part in made[word]]
    for word in SCHEMAS:
        if isinstance(made.get(word), dict):
            made[word] = walk(made[word], change, f"{path}[]" if word == "items" else path)
    return change(made, path)


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class _Inliner:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.drops: dict[str, None] = {}
        self.nodes = 0

    def node(self, schema: Any, active: tuple[str, ...]) -> Any:
        if not isinstance(schema, dict):
            return schema
        self.nodes += 1
        ref = schema.get("$ref")
        if isinstance(ref, str):
            rest = {word: part for word, part in schema.items() if word != "$ref"}
            return self.merged(self.target(ref, active), self.node(rest, active) if rest else {})
        made = {word: part for word, part in schema.items() if word not in ("$defs", "definitions")}
        for word in MAPS:
            if isinstance(made.get(word), dict):
                made[word] = {name: self.node(part, active) for name, part in made[word].items()}
        for word in LISTS:
            if isinstance(made.get(word), list):
                made[word] = [self.node(part, active) for part in made[word]]
        for word in SCHEMAS:
            if isinstance(made.get(word), dict):
                made[word] = self.node(made[word], active)
        return made

    def target(self, ref: str, active: tuple[str, ...]) -> dict[str, Any]:
        if active.count(ref) >= _MAX_DEPTH:
            self.drops[f"the recursion of {ref} is cut after {_MAX_DEPTH} levels"] = None
            return {}
        if self.nodes > _MAX_NODES:
            self.drops[f"references are not written out beyond {_MAX_NODES} parts"] = None
            return {}
        found = _pointed(self.root, ref)
        if not isinstance(found, dict):
            self.drops[f"the reference {ref} leads nowhere inside the schema"] = None
            return {}
        made: dict[str, Any] = self.node(found, (*active, ref))
        return made

    @staticmethod
    def merged(target: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
        return {**target, **beside}


def _pointed(root: dict[str, Any], ref: str) -> Any:
    if not ref.startswith("#"):
        return None
    here: Any = root
    for part in ref[1:].split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        here = here.get(key) if isinstance(here, dict) else None
    return here


def inlined(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """References written out, recursion cut where it would not end; and what that left out."""
    inliner = _Inliner(schema)
    return inliner.node(schema, ()), list(inliner.drops)


def merged_top(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Unions at the top merged into one object; and the rules that this cannot say, in words.

    What every alternative requires stays required. Properties keep their schema;
    one that differs between alternatives may be any of them.
    """
    made, rules = dict(schema), list[str]()
    for word in ("allOf", "anyOf", "oneOf"):
        branches = made.pop(word, None)
        if not isinstance(branches, list) or not branches:
            continue
        parts = [_branch(schema, branch) for branch in branches]
        rules.extend(rule for _, inner in parts for rule in inner)
        objects = [part for part, _ in parts]
        _merge(made, objects, every=word == "allOf")
        if word != "allOf":
            rules.extend(_rule(made, objects, word))
    if not made.get("required", True):
        del made["required"]
    return made, list(dict.fromkeys(rules))


def _branch(root: dict[str, Any], branch: Any) -> tuple[dict[str, Any], list[str]]:
    seen = 0
    while isinstance(branch, dict) and isinstance(branch.get("$ref"), str) and seen < _MAX_DEPTH:
        branch, seen = {**(_pointed(root, branch["$ref"]) or {}), **_beside(branch)}, seen + 1
    if not isinstance(branch, dict):
        return {}, []
    return merged_top(branch) if any(word in branch for word in ("allOf", "anyOf", "oneOf")) else (branch, [])


def _beside(branch: dict[str, Any]) -> dict[str, Any]:
    return {word: part for word, part in branch.items() if word != "$ref"}


def _merge(made: dict[str, Any], branches: list[dict[str, Any]], *, every: bool) -> None:
    properties: dict[str, Any] = dict(made.get("properties") or {})
    own = set(properties)
    for branch in branches:
        for name, part in (branch.get("properties") or {}).items():
            if name not in properties:
                properties[name] = part
            elif name not in own and properties[name] != part:
                properties[name] = _either(properties[name], part)
            elif every and properties[name] != part and isinstance(part, dict):
                properties[name] = (
                    {**properties[name], **part} if isinstance(properties[name], dict) else part
                )
    required = list(made.get("required") or [])
    needs = [list(branch.get("required") or []) for branch in branches]
    if every:
        shared = [name for names in needs for name in names]
    else:
        shared = [name for name in needs[0] if all(name in names for names in needs)]
    made["properties"] = properties
    made["required"] = list(dict.fromkeys([*required, *shared]))
    extra = [branch.get("additionalProperties") for branch in branches]
    if "additionalProperties" not in made and extra and all(item is False for item in extra):
        made["additionalProperties"] = False


def _either(first: Any, second: Any) -> dict[str, Any]:
    parts = first["anyOf"] if isinstance(first, dict) and set(first) == {"anyOf"} else [first]
    return {"anyOf": [*parts, *([] if second in parts else [second])]}


def _rule(made: dict[str, Any], branches: list[dict[str, Any]], word: str) -> list[str]:
    base = set(made.get("required") or [])
    texts = []
    for branch in branches:
        names = [name for name in branch.get("required") or [] if name not in base]
        fixed = [
            f"{name} = {part['const']!r}"
            for name, part in (branch.get("properties") or {}).items()
            if isinstance(part, dict) and "const" in part
        ]
        words = [
            *fixed,
            *(name for name in names if not any(item.startswith(f"{name} = ") for item in fixed)),
        ]
        texts.append(" and ".join(words) if words else "none of these")
    texts = list(dict.fromkeys(texts))
    if len(texts) < 2:
        return []
    count = "Exactly one" if word == "oneOf" else "At least one"
    return [f"{count} of these must be given: {'; or '.join(texts)}."]


def without_root_words(schema: dict[str, Any], words: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """The schema without some keywords of its top level; and what was dropped."""
    made = {word: part for word, part in schema.items() if word not in words}
    return made, [f"{word!r} at the top of the schema" for word in words if word in schema]
