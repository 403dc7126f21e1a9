"""What standing before an MCP server costs a call: direct, through failsoft, and through FastMCP's own proxy.

    python bench/mcp.py [--calls 300] [--rounds 5] [--long 0] [--peer PYTHON] [--json FILE]

One server that answers at once and one client without a framework, so that nothing hides what is added. Interleaved
rounds; medians of each way's calls, one after another, and calls a second with 32 under way. `--peer` is a Python that
has fastmcp, default this one. `--long N` makes N more calls through failsoft and tells how its memory grew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SERVER = """
import json, sys
TOOL = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "look", "inputSchema": TOOL, "annotations": {"readOnlyHint": True}},
         {"name": "act", "inputSchema": TOOL, "annotations": {"readOnlyHint": False}}]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
    else:
        result = {"initialize": HELLO, "tools/list": {"tools": TOOLS}}.get(method, {})
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\\n")
    sys.stdout.flush()
"""
PEER = """
import sys
from fastmcp.server import create_proxy
create_proxy({"mcpServers": {"s": {"command": sys.argv[1], "args": sys.argv[2:]}}}).run("stdio", show_banner=False)
"""
IN_FLIGHT = 32


class Way:
    """One way to the server: a process that speaks the protocol on its standard input and output."""

    def __init__(self, name: str, argv: list[str], folder: str, tool: str = "look") -> None:
        self.name, self.tool = name, tool
        environment = {**os.environ, "FAILSOFT_HOME": folder, "FAILSOFT_CONFIG": "none"}
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.next = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        self.ask("initialize", hello)
        self.write({"method": "notifications/initialized"})
        self.ask("tools/list", {})
        self.times_ms: list[float] = []
        self.rates: list[float] = []

    def write(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name} has ended")
            message: dict[str, Any] = json.loads(line)
            if "method" not in message:
                assert "result" in message, message
                assert not message["result"].get("isError"), message
                return message

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """One request and its answer."""
        self.send(method, params)
        return self.read()

    def send(self, method: str, params: Any) -> None:
        """One request."""
        self.next += 1
        self.write({"id": self.next, "method": method, "params": params})

    def call(self) -> dict[str, Any]:
        """The parameters of a call that differs from all others."""
        return {"name": self.tool, "arguments": {"text": f"hello {self.next}"}}

    def one_by_one(self, calls: int) -> None:
        """Time calls, each after the one before."""
        for _ in range(calls):
            began = time.perf_counter()
            self.ask("tools/call", self.call())
            self.times_ms.append((time.perf_counter() - began) * 1e3)

    def at_once(self, calls: int) -> None:
        """Time many calls with `IN_FLIGHT` under way."""
        began = time.perf_counter()
        for _ in range(IN_FLIGHT):
            self.send("tools/call", self.call())
        for _ in range(calls - IN_FLIGHT):
            self.read()
            self.send("tools/call", self.call())
        for _ in range(IN_FLIGHT):
            self.read()
        self.rates.append(calls / (time.perf_counter() - began))

    def memory_mb(self) -> float:
        """Resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def ways(folder: str, peer: str) -> list[Way]:
    """All ways that can be had here."""
    server = [sys.executable, "-c", SERVER]
    proxy = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]
    made = [
        Way("direct", server, folder),
        Way("failsoft, looks", [*proxy, "--", *server], folder),
        Way("failsoft, acts, ledger in memory", [*proxy, "--store", "memory", "--", *server], folder, "act"),
        Way("failsoft, acts, ledger on disk", [*proxy, "--", *server], folder, "act"),
    ]
    if subprocess.run([peer, "-c", "import fastmcp"], capture_output=True, check=False).returncode == 0:
        made.append(Way("fastmcp proxy", [peer, "-c", PEER, *server], folder))
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", type=int, default=0)
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = ways(folder, options.peer)
        for way in measured:
            way.one_by_one(50)
            way.times_ms.clear()
        for _ in range(options.rounds):
            for way in measured:
                way.one_by_one(options.calls)
                way.at_once(options.calls)
        growth = None
        if options.long:
            way = measured[1]
            way.at_once(5_000)
            before = way.memory_mb()
            way.at_once(options.long)
            growth = round(way.memory_mb() - before, 2)
        for way in measured:
            way.close()
    floor = statistics.median(measured[0].times_ms)
    rows = {
        way.name: {
            "median_ms": round(statistics.median(way.times_ms), 3),
            "added_ms": round(statistics.median(way.times_ms) - floor, 3),
            "p95_ms": round(statistics.quantiles(way.times_ms, n=20)[-1], 3),
            "calls_per_s": round(statistics.median(way.rates)),
        }
        for way in measured
    }
    for name, row in rows.items():
        print(f"{name:36}" + "  ".join(f"{key} {value:>9}" for key, value in row.items()))
    if growth is not None:
        print(f"memory after {options.long} more calls: {growth:+} MB")
    if options.json:
        machine = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
        result = {"machine": machine, "rows": rows, "memory_growth_mb": growth, "long": options.long}
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
