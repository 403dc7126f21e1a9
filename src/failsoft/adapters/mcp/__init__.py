"""mcp owns: any MCP server made reliable by standing before it, and a harness served as an MCP server."""
