"""A server made with the official SDK: `sdk_server.py stdio`, or `sdk_server.py PORT` for streamable HTTP."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("sdk")
READ = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=READ)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(annotations=READ)
async def steps(ctx: Context) -> str:
    """Tell of three steps."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "done"


@server.tool(annotations=READ)
def broken() -> str:
    """Fail."""
    raise ValueError("it broke")


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "the first note"


@server.prompt()
def hello(name: str) -> str:
    """Greet."""
    return f"Hello {name}"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
