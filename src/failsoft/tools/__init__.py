"""tools owns what a tool is: definition, decorator, schema, registry, and how providers are told of it."""

from __future__ import annotations

from failsoft.tools.decorator import tool
from failsoft.tools.definition import Tool
from failsoft.tools.options import IsolationMode, Options, ToolKeywords
from failsoft.tools.registry import Registry, Resolution, undeclared_hint

__all__ = [
    "IsolationMode",
    "Options",
    "Registry",
    "Resolution",
    "Tool",
    "ToolKeywords",
    "tool",
    "undeclared_hint",
]
