"""What standing before an MCP server costs a call: direct, through failsoft, and through FastMCP's own proxy.

    python -m bench.mcp [--calls 300] [--rounds 5] [--long 0] [--peer PYTHON] [--json FILE]

One server that answers at once and clients without a framework, so that nothing hides what is added; over pipes, and over
HTTP on both sides. Interleaved rounds; medians of each way's calls, one after another, and calls a second with 32 under
way. `--peer` is a Python that has fastmcp, default this one. `--long N` makes N more calls through failsoft, over pipes and
over HTTP, and tells how much memory it had before, at each 10,000 and in the end.
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
from pathlib import Path
from typing import Any

from bench.mcp_ways import PIPE_SERVER, Http, Pipe, Way, free_port, http_server

PEER = """
import sys
from fastmcp.server import create_proxy
create_proxy({"mcpServers": {"s": {"command": sys.argv[1], "args": sys.argv[2:]}}}).run("stdio", show_banner=False)
"""
HTTP_PEER = """
import sys
from fastmcp.server import create_proxy
proxy = create_proxy({"mcpServers": {"s": {"url": sys.argv[1]}}})
proxy.run("http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", show_banner=False, log_level="ERROR")
"""
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]
SAMPLE_EVERY = 10_000
WARM_UP = 5_000


def has_peer(peer: str) -> bool:
    """Whether that Python has FastMCP."""
    return subprocess.run([peer, "-c", "import fastmcp"], capture_output=True, check=False).returncode == 0


def pipes(folder: str, peer: str) -> list[Way]:
    """All ways over pipes."""
    server = [sys.executable, "-c", PIPE_SERVER]
    made: list[Way] = [
        Pipe("direct", server, folder),
        Pipe("failsoft, looks", [*PROXY, "--", *server], folder),
        Pipe(
            "failsoft, acts, ledger in memory",
            [*PROXY, "--store", "memory", "--", *server],
            folder,
            tool="act",
        ),
        Pipe("failsoft, acts, ledger on disk", [*PROXY, "--", *server], folder, tool="act"),
    ]
    if has_peer(peer):
        made.append(Pipe("fastmcp proxy", [peer, "-c", PEER, *server], folder))
    return made


def over_http(folder: str, peer: str) -> list[Way]:
    """All ways over HTTP, on both sides of what stands between."""
    direct, server = http_server(folder)
    url = f"http://127.0.0.1:{server}/mcp"
    made: list[Way] = [direct]
    for name, more, tool in (
        ("failsoft, looks", (), "look"),
        ("failsoft, acts, ledger in memory", ("--store", "memory"), "act"),
    ):
        port = free_port()
        argv = [*PROXY, *more, "--url", url, "--http", str(port), "--no-token"]
        made.append(Http(name, argv, folder, port=port, tool=tool))
    if has_peer(peer):
        port = free_port()
        made.append(Http("fastmcp proxy", [peer, "-c", HTTP_PEER, url, str(port)], folder, port=port))
    return made


def measured(ways: list[Way], calls: int, rounds: int) -> dict[str, dict[str, float]]:
    """The figures of each way; the first is the floor."""
    for way in ways:
        way.one_by_one(50)
        way.times_ms.clear()
    for _ in range(rounds):
        for way in ways:
            way.one_by_one(calls)
            way.at_once(calls)
    floor = statistics.median(ways[0].times_ms)
    return {
        way.name: {
            "median_ms": round(statistics.median(way.times_ms), 3),
            "added_ms": round(statistics.median(way.times_ms) - floor, 3),
            "p95_ms": round(statistics.quantiles(way.times_ms, n=20)[-1], 3),
            "calls_per_s": round(statistics.median(way.rates)),
        }
        for way in ways
    }


def memory_over(way: Way, calls: int) -> list[float]:
    """Megabytes before, at each 10,000 calls, and in the end."""
    way.at_once(WARM_UP, longest_s=float("inf"))
    found = [round(way.memory_mb(), 2)]
    for done in range(0, calls, SAMPLE_EVERY):
        way.at_once(min(SAMPLE_EVERY, calls - done), longest_s=float("inf"))
        found.append(round(way.memory_mb(), 2))
    return found


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    """Print a table."""
    print(title)
    for name, row in rows.items():
        print(f"  {name:36}" + "  ".join(f"{key} {value:>9}" for key, value in row.items()))


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", type=int, default=0)
    parser.add_argument("--peer", default=sys.executable)
    parser.add_argument("--json")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = parsed()
    result: dict[str, Any] = {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cpus": os.cpu_count(),
        },
        "long": options.long,
    }
    for key, title, make in (("rows", "over pipes", pipes), ("http", "over HTTP", over_http)):
        with tempfile.TemporaryDirectory() as folder:
            ways = make(folder, options.peer)
            try:
                result[key] = measured(ways, options.calls, options.rounds)
                show(title, result[key])
                if options.long:
                    memory = memory_over(ways[1], options.long)
                    result.setdefault("memory_mb", {})[title] = memory
                    print(f"  memory over {options.long} calls, MB: {memory}")
            finally:
                for way in reversed(ways):
                    way.close()
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
