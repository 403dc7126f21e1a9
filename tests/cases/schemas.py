"""Operation `adapt_schema`: a tool's schema as a provider is told, and what still holds for its calls."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft.harness.harness import Harness
from failsoft.tools import Tool
from tests.cases.calling import schema_call
from tests.cases.seen import Seen
from tests.cases.words import DIALECTS, UnknownWord

__all__ = ["run_adapt_schema"]


def _parameters(told: dict[str, Any]) -> dict[str, Any]:
    """The schema of the arguments in one entry of a provider's tool list."""
    for entry in told.get("functionDeclarations") or told.get("function_declarations") or [told]:
        inner = entry.get("function") or entry
        for name in (
            "input_schema",
            "parameters",
            "parametersJsonSchema",
            "parameters_json_schema",
            "inputSchema",
        ):
            if name in inner:
                return dict(inner[name])
    raise AssertionError(f"no schema in {told!r}")


async def run_adapt_schema(row: dict[str, Any]) -> Seen:
    """One schema for one provider."""
    if row["provider"] not in DIALECTS:
        raise UnknownWord(row["provider"])
    tool = Tool.from_schema("tool", row["schema"], lambda **_: "done", description="A tool.", read_only=True)
    async with Harness([tool], store="memory") as harness:
        told = _parameters(harness.schemas(DIALECTS[row["provider"]])[0])

    def call_with(arguments: dict[str, Any]) -> Seen:
        spec = {"name": "tool", "schema": row["schema"]}
        return asyncio.run(schema_call(spec, {"raw_arguments": arguments}))

    return Seen(facts={"schema": told, "call_with": call_with, "raises": False})
