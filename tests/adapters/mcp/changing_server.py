"""A server whose tools are a list in a file; its tool `grow` writes another list there and tells of the change."""

import json
import sys

FILE = sys.argv[1]


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools():
    with open(FILE) as file:
        names = json.load(file)
    properties = {"tools": {"type": "array", "items": {"type": "string"}}}
    schema = {"type": "object", "properties": properties}
    return [
        {"name": name, "description": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
        for name in names
    ]


def call(params):
    if params["name"] == "grow":
        with open(FILE, "w") as file:
            json.dump(params["arguments"]["tools"], file)
        write({"method": "notifications/tools/list_changed"})
    return {"content": [{"type": "text", "text": params["name"]}]}


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        info = {"name": "changing", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        said = {"instructions": "Grow first."}
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": info,
            **said,
        }
        write({"id": message["id"], "result": result})
    elif method == "tools/list":
        write({"id": message["id"], "result": {"tools": tools()}})
    elif method == "tools/call":
        write({"id": message["id"], "result": call(params)})
