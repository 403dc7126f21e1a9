"""The tools of an `idempotency` case, and the key that the ledger knows a call by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from failsoft.core.calls import NotDone
from failsoft.core.errors import AgentError
from failsoft.harness.harness import Harness
from failsoft.ledger.key import identity_of, key_of
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.repeat_forms import Asked
from tests.cases.repeat_words import annotations_of, first

__all__ = ["key_of_tool", "ledger_key", "specs_of", "tool_of"]

_IDENTITY = ("identity", "key_fields", "key_arguments", "key_from", "identity_fields", "unique_by")
_IGNORED = ("ignore", "ignored", "ignored_arguments", "ignore_arguments", "exclude", "volatile")
_BESIDE = (
    *(
        "idempotent",
        "read_only",
        "destructive",
        "annotations",
        "idempotency_key",
        "identity",
        "ignore",
        "defaults",
    ),
    *("script", "script_per_attempt", "outcomes", "behaviour", "verify", "schema", *_IDENTITY, *_IGNORED),
)


def specs_of(row: Mapping[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """The tools of the case; those that calls only name too."""
    spec = row.get("tool")
    given = row.get("tools") or ([spec if isinstance(spec, Mapping) else {"name": spec}] if spec else [])
    beside = {name: row[name] for name in _BESIDE if name in row}
    tools = [{**beside, **one, "name": one.get("name") or "tool"} for one in given]
    known = {one["name"] for one in tools}
    tools += [{**beside, "name": name} for name in names if name not in known]
    return tools or [{**beside, "name": "tool"}]


def key_of_tool(spec: Mapping[str, Any]) -> str | None:
    """The parameter that takes an idempotency key."""
    key = first(spec, ("idempotency_key", "key_parameter", "takes_key", "accepts_key"))
    return "idempotency_key" if key is True else key or None


def tool_of(row: Mapping[str, Any], spec: dict[str, Any], body: Any) -> Tool[..., Any]:
    """One tool, declared as the case says."""
    key = key_of_tool(spec)
    schema = dict(spec.get("schema") or {"type": "object", "properties": {}, "additionalProperties": True})
    properties = dict(schema.get("properties") or {})
    for name, value in (spec.get("defaults") or {}).items():
        properties[name] = {**properties.get(name, {}), "default": value}
    if key:
        properties.setdefault(key, {"type": "string"})
    options: dict[str, Any] = annotations_of(spec)
    identity = first(spec, _IDENTITY)
    ignored = first(spec, _IGNORED)
    if ignored is not None:
        identity = [name for name in _argument_names(row, properties) if name not in {*ignored, key}]
    if identity is not None:
        options["identity"] = tuple(identity)
        for name in identity:
            properties.setdefault(name, {})
    if (ttl_s := first({**row, **spec}, ("key_ttl_s", "idempotency_key_ttl_s"))) is not None:
        options["key_ttl_s"] = ttl_s
    if "verify" in spec:
        options["verify"] = _verify(spec["verify"])
    return Tool.from_schema(
        spec["name"],
        {**schema, "properties": properties},
        body,
        description="A tool.",
        atomic=True,  # until it says that it has acted
        idempotency_key=key,
        **options,
    )


def _argument_names(row: Mapping[str, Any], properties: Mapping[str, Any]) -> list[str]:
    """All that a call of this case may be given."""
    names = dict.fromkeys(properties)

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            for name, item in value.items():
                if name in ("arguments", "a", "b") and isinstance(item, Mapping):
                    names.update(dict.fromkeys(item))
                look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    look(row)
    return list(names)


def _verify(spec: Any) -> Any:
    word = str(spec).lower()

    def verify() -> Any:
        if isinstance(spec, Mapping):
            return build.value(first(spec, ("return", "value"), "done"))
        if word in ("not_done", "notdone", "false", "did_not_happen", "no", "none"):
            return NotDone
        if word in ("unknown", "error", "fails"):
            raise ConnectionError("nobody knows")
        return "done"

    return verify


def ledger_key(harness: Harness, name: str, asked: Asked) -> str | None:
    """As `claim` makes it."""
    tool = next((tool for tool in harness.tools if tool.name == name), None)
    if tool is None:
        return None
    try:
        values = tool.parse(build.value(asked.arguments)).values
    except AgentError:
        return None
    told = {
        "identity": tool.options.identity,
        "defaults": tool.defaults,
        "hidden": tool.hidden,
        "key": asked.key,
    }
    fingerprint = identity_of(name, values, **told).fingerprint
    return key_of(asked.scope or harness.name, asked.run, name, fingerprint, asked.occurrence, asked.key)
