"""A server of plain JSON-RPC that misbehaves as it is asked to; each effect is one line in the file $TOY_EFFECTS."""

import json
import os
import subprocess
import sys
import threading
import time

READ, ACT, SAME = (
    {"readOnlyHint": True},
    {"readOnlyHint": False},
    {"readOnlyHint": False, "idempotentHint": True},
)
ANY = {"type": "object", "properties": {"n": {"type": "integer"}, "how": {"type": "string"}}}


def tool(name, annotations=None, schema=ANY):
    made = {"name": name, "description": f"Toy {name}.", "inputSchema": schema, "x-own": {"kept": True}}
    return made if annotations is None else {**made, "annotations": annotations}


TOOLS = [
    tool("look", READ),
    tool("act", ACT),
    tool("put", SAME),
    tool("plain"),
    tool("odd", READ, {"type": "array", "$ref": "#/nowhere"}),
]
lock = threading.Lock()
cancelled = set()


def write(message):
    text = message if isinstance(message, str) else json.dumps(message)
    with lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def note(text):
    with open(os.environ["TOY_EFFECTS"], "a") as file:
        file.write(text + "\n")


def count(word):
    try:
        with open(os.environ["TOY_EFFECTS"]) as file:
            return sum(line.startswith(word) for line in file)
    except OSError:
        return 0


def call(id, params):
    arguments = params.get("arguments") or {}
    name, how, n = params.get("name"), arguments.get("how", ""), arguments.get("n", 0)
    token = (params.get("_meta") or {}).get("progressToken")
    first = count(f"try {name} {n} {how}") == 0
    note(f"try {name} {n} {how}")
    if how == "crash before" and first:
        os._exit(3)
    if name in ("act", "put", "plain"):
        note(f"effect {name} {n}")
    misbehave(how, first, token)
    if how == "wrong id" and first:
        id = 999_999
    write({"jsonrpc": "2.0", "id": id, **outcome(how, first, name, n, params)})


def misbehave(how, first, token):
    if (how == "crash after" and first) or how == "crash always":
        os._exit(4)
    if how == "hang" or (how == "hang once" and first):
        time.sleep(3600)
    if how == "freeze":
        os.kill(os.getpid(), 19)
        time.sleep(3600)
    if how == "late":
        time.sleep(0.6)
    if how == "garbage":
        write("%% not a message")
    if how == "orphan":
        subprocess.Popen(["sleep", "1234"], start_new_session=True)
    for step in range(5) if how == "progress" else ():
        time.sleep(0.15)
        params = {"progressToken": token, "progress": step, "total": 5}
        write({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def outcome(how, first, name, n, params):
    if how == "huge":
        return {"result": {"content": [{"type": "text", "text": "x" * 3_000_000}]}}
    if how == "error":
        return {"error": {"code": -32602, "message": "no", "data": {"own": 1}}}
    if how == "broken":
        return {"error": {"code": -32603, "message": "it broke"}}
    if how == "ask back" and "inputResponses" not in params:
        return {"result": {"resultType": "input_required", "requestState": "s1"}}
    if how == "is error" or (how == "busy once" and first):
        return {"result": {"content": [{"type": "text", "text": "busy, come back"}], "isError": True}}
    content = [{"type": "text", "text": f"{name} {n}"}]
    if how == "image":
        content = [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]
    return {"result": {"content": content, "structuredContent": {"n": n}, "x-own": [1]}}


def answer(message):
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        note(f"initialize {params.get('protocolVersion')}")
        result = {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {"listChanged": True}, "resources": {}},
            "serverInfo": {"name": "toy", "version": "1"},
        }
        write({"jsonrpc": "2.0", "id": id, "result": result})
    elif method == "tools/list":
        half = 3
        if params.get("cursor"):
            write({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS[half:]}})
        else:
            write({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS[:half], "nextCursor": "2"}})
    elif method == "tools/call":
        how = (params.get("arguments") or {}).get("how", "")
        if how == "block":
            time.sleep(3600)
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    elif method == "notifications/cancelled":
        note(f"cancelled {params.get('requestId')}")
    elif method == "own/ask":
        write({"jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage", "params": {"own": 1}})
        write({"jsonrpc": "2.0", "id": id, "result": {}})
    elif method == "own/crash":
        os._exit(6)
    elif method == "own/hang":
        note("hanging")
    elif id is not None and method is not None:
        write({"jsonrpc": "2.0", "id": id, "result": {"echo": message}})
    elif method is not None or id is not None:
        note(f"heard {json.dumps(message, sort_keys=True)}")


def main():
    if os.environ.get("TOY_BANNER"):
        write("Toy server, version 1: a banner that does not belong here")
    if "fail-start" in sys.argv:
        sys.exit(1)
    for line in sys.stdin:
        answer(json.loads(line))
    if "stay" in sys.argv:
        time.sleep(3600)
    os._exit(0)


if __name__ == "__main__":
    main()
