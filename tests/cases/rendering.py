"""Operation `render_result`: a tool's return value on its way to the model."""

from __future__ import annotations

from typing import Any

from failsoft.harness.harness import Harness
from failsoft.policies import Output, Policy
from failsoft.tools import Tool
from tests.cases import build
from tests.cases.calling import schema_call
from tests.cases.seen import Seen, of_result, text_of

__all__ = ["run_render_result"]

_ANYTHING = {"type": "object", "properties": {"a": {"type": "string"}}}


async def run_render_result(row: dict[str, Any]) -> Seen:
    """One value, or the error for arguments that cannot be read."""
    if "invalid_arguments_error_for" in row:
        return await schema_call({"name": "tool", "schema": _ANYTHING}, row["invalid_arguments_error_for"])
    value = build.value(row["value"])
    tool = Tool.from_schema("tool", {"type": "object", "properties": {}}, lambda: value, read_only=True)
    limit = row.get("limit_chars")
    policy = Policy() if limit is None else Policy(output=Output(max_chars=limit))
    async with Harness([tool], policy=policy, store="memory") as harness:
        result = await harness.call("tool", {})
        seen = of_result(result)
    seen.ran_with = [{}]
    seen.facts["text_chars"] = len(text_of(result.content))
    seen.facts["image_intact_or_replaced"] = _images_whole(value, result.content)
    return seen


def _data_in(value: Any) -> list[str]:
    """Every base64 text of an image or another binary part."""
    if isinstance(value, dict):
        own = [value["data"]] if isinstance(value.get("data"), str) and "type" in value else []
        return own + [data for name, item in value.items() if name != "data" for data in _data_in(item)]
    return [data for item in value for data in _data_in(item)] if isinstance(value, list) else []


def _images_whole(value: Any, content: Any) -> bool:
    """Whether each image came whole, or not at all: no part of one is left in the text."""
    sent = _data_in(value)
    blocks = content if isinstance(content, list) else []
    whole = all(data in sent for data in _data_in(blocks))
    return whole and not any(data[:64] in text_of(content) for data in sent)
