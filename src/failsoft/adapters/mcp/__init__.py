"""mcp owns: any MCP server made reliable, before a client or for a harness; and a harness served as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from failsoft.adapters.mcp.tools import McpTools, mcp_tools

__all__ = ["McpTools", "mcp_tools"]


def __getattr__(name: str) -> Any:
    """Load the names of this package when they are used: its modules must not wait for each other."""
    if name in __all__:
        from failsoft.adapters.mcp import tools

        return getattr(tools, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
