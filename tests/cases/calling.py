"""Operations `call` and `call_pydantic`: one tool call as the model sent it."""

from __future__ import annotations

import re
from typing import Any

from pydantic import create_model

from failsoft.core.results import ToolResult
from failsoft.harness.harness import Harness
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.seen import Seen, of_result

__all__ = ["run_call", "run_call_pydantic", "schema_call"]

_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens")


async def _called(tool: Tool[..., Any], row: dict[str, Any]) -> ToolResult:
    async with Harness([tool], store="memory", builtins=False) as harness:
        raw = build.value(row.get("raw_arguments"))
        return await harness.call(tool.name, raw, id="c1", truncated=row.get("finish_reason") in _CUT_OFF)


async def schema_call(spec: dict[str, Any], row: dict[str, Any], *, max_told: int | None = None) -> Seen:
    """Call a tool that is given by its JSON Schema; what its body gets is recorded."""
    ran: list[dict[str, Any]] = []

    def body(**arguments: Any) -> str:
        ran.append(arguments)
        return "done"

    tool = Tool.from_schema(spec["name"], spec["schema"], body, description="A tool.", read_only=True)
    seen = of_result(await _called(tool, row))
    seen.ran_with = ran
    return seen


async def run_call(row: dict[str, Any]) -> Seen:
    """One call of a tool with a JSON Schema."""
    return await schema_call(row["tool"], row)


# ---- pydantic models in short form: {"name": "type", "other": "type = default", "third": "injected:value"} ----

_TYPES: dict[str, Any] = {
    "str": str,
    "string": str,
    "int": int,
    "integer": int,
    "float": float,
    "number": float,
    "bool": bool,
    "boolean": bool,
    "dict": dict[str, Any],
    "object": dict[str, Any],
    "any": Any,
}


def _type_of(text: str) -> Any:
    text = text.strip()
    if "|" in text:
        parts = [_type_of(part) for part in text.split("|")]
        made = parts[0]
        for part in parts[1:]:
            made = made | part
        return made
    if text in ("None", "null"):
        return None
    inner = re.fullmatch(r"(?:list|array)\[(.+)\]", text)
    if inner:
        return list[_type_of(inner[1])]  # type: ignore[misc]
    literal = re.fullmatch(r"(?:Literal|enum)\[(.+)\]", text)
    if literal:
        from typing import Literal

        words = tuple(word.strip().strip("'\"") for word in literal[1].split(","))
        return Literal[words]
    optional = re.fullmatch(r"(?:Optional\[(.+)\]|(.+)\?)", text)
    if optional:
        return _type_of(optional[1] or optional[2]) | None
    if text == "list":
        return list[Any]
    if text not in _TYPES:
        raise build.MissingLibrary(f"no short form of a type: {text!r}")
    return _TYPES[text]


def _read_default(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "null": None}.get(text.strip(), text.strip())


def _split(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of the model, and injected values by name."""
    shown: dict[str, Any] = {}
    injected: dict[str, Any] = {}
    for name, spec in fields.items():
        if isinstance(spec, str) and spec.startswith("injected:"):
            injected[name] = spec.removeprefix("injected:").strip()
        elif isinstance(spec, str):
            kind, has_default, default = spec.partition("=")
            shown[name] = (_type_of(kind), _read_default(default) if has_default else ...)
        elif isinstance(spec, dict):
            inner, _ = _split(spec)
            shown[name] = (create_model(name.title(), **inner), ...)
        else:
            raise build.MissingLibrary(f"no short form of a field: {spec!r}")
    return shown, injected


async def run_call_pydantic(row: dict[str, Any]) -> Seen:
    """One call of a tool with a pydantic model; injected values come from the host and are never shown."""
    spec = row["tool"]
    fields = spec.get("model") or spec.get("fields") or spec.get("parameters")
    if not isinstance(fields, dict):
        raise build.MissingLibrary("no short form of a model in this case")
    shown, injected = _split(fields)
    model = create_model("Arguments", **shown)
    ran: list[dict[str, Any]] = []

    def body(**arguments: Any) -> str:
        ran.append({**_plain(arguments), **injected})
        return "done"

    tool = Tool.from_model(model, body, name=spec.get("name", "tool"), read_only=True)
    seen = of_result(await _called(tool, row))
    seen.ran_with = ran
    return seen


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
