"""Operations `resolve_name` and `provider_names`: a requested name against the registered ones, and the way back."""

from __future__ import annotations

import re
from typing import Any

from failsoft.harness.harness import Harness
from failsoft.tools import Tool
from tests.cases.seen import Seen, of_result

__all__ = ["run_provider_names", "run_resolve_name"]

# The dialects of model providers; MCP allows other names and is none.
_PROVIDERS = ("anthropic", "openai", "openai-strict", "openai-responses", "gemini", "lenient")
_NO_ARGUMENTS = {"type": "object", "properties": {}}


def _tools(names: list[str], ran: list[str]) -> list[Tool[..., Any]]:
    def body_of(name: str) -> Any:
        def body() -> str:
            ran.append(name)
            return f"ran {name}"

        return body

    return [
        Tool.from_schema(name, _NO_ARGUMENTS, body_of(name), description="A tool.", read_only=True)
        for name in names
    ]


async def run_resolve_name(row: dict[str, Any]) -> Seen:
    """A call by the requested name, and whether a tool ran for it."""
    ran: list[str] = []
    async with Harness(_tools(row["registered"], ran), store="memory") as harness:
        result = await harness.call(row["requested"], {}, id="c1")
    seen = of_result(result, ran_tool=ran[0] if ran else None)
    exact = row["requested"] in row["registered"]
    seen.facts["corrected"] = bool(ran) and not exact
    seen.ran_with = [{} for _ in ran]
    return seen


def names_in(schemas: list[dict[str, Any]]) -> list[str]:
    """The tools' names in a provider's tool list."""
    found = []
    for schema in schemas:
        for declared in schema.get("functionDeclarations") or schema.get("function_declarations") or [schema]:
            found.append((declared.get("function") or declared)["name"])
    return found


async def run_provider_names(row: dict[str, Any]) -> Seen:
    """The names that every provider is told, and what a call by each of them runs."""
    registered = row["registered"]
    matches, distinct, back = [], [], []
    for provider in _PROVIDERS:
        ran: list[str] = []
        async with Harness(_tools(registered, ran), store="memory") as harness:
            told = names_in(harness.schemas(provider))
            for name in told:
                await harness.call(name, {}, id="c1")
        pattern = row.get("pattern") or "^[a-zA-Z0-9_-]{1,64}$"
        matches.append(all(re.search(pattern, name) for name in told))
        distinct.append(len(set(told)) == len(registered))
        back.append(ran == registered)
    return Seen(
        facts={
            "all_match_pattern": all(matches),
            "distinct": all(distinct),
            "round_trip": all(back),
            "raises": False,
        }
    )
