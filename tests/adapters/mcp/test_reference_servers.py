"""The reference servers of the protocol's own project answer alike with and without the proxy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.mcp.npm import installed

ROOT = Path(__file__).parents[3]
CACHE = ROOT / "build" / "mcp-servers"
PACKAGES = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp", "--"]

# The first test installs the servers.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(240)]


@pytest.fixture(scope="session")
def packages():
    """Where the servers are installed, once, under what git ignores."""
    modules = installed(CACHE, [f"{name}@{version}" for name, version in PACKAGES.items()])
    return modules / "@modelcontextprotocol"


class Peer:
    """A client by hand: one request, one answer."""

    def __init__(self, argv, environment):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.next = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.hello = self.ask("initialize", hello)
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.next += 1
        self.write({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.next and "method" not in message:
                return message

    def close(self):
        self.process.communicate(timeout=15)


LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "no/such/method"]


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        (
            "server-everything",
            [
                ("echo", {"message": "hi"}),
                ("get-sum", {"a": 2, "b": 3}),
                ("get-tiny-image", {}),
                ("get-structured-content", {"location": "New York"}),
                ("get-annotated-message", {"messageType": "success", "includeImage": True}),
                ("get-resource-links", {"count": 3}),
            ],
        ),
        (
            "server-filesystem",
            [
                ("write_file", {"path": "a.txt", "content": "one\ntwo"}),
                ("read_text_file", {"path": "a.txt"}),
                ("list_directory", {"path": "."}),
                ("read_text_file", {"path": "/etc/passwd"}),
            ],
        ),
        (
            "server-memory",
            [
                ("create_entities", {"entities": [{"name": "a", "entityType": "b", "observations": ["c"]}]}),
                ("read_graph", {}),
                ("search_nodes", {"query": "a"}),
            ],
        ),
    ],
)
def test_it_answers_alike(packages, tmp_path, name, calls):
    """Handshake, lists and calls of a reference server are the same, field by field, through the proxy."""
    home = tmp_path / "home"
    home.mkdir()
    script = str(packages / name / "dist" / "index.js")
    direct, proxied = ways_for(name, script, home, tmp_path)
    try:
        assert direct.hello["result"] == proxied.hello["result"]
        for method in LISTS:
            assert direct.ask(method, {}) == proxied.ask(method, {}), method
        for tool, arguments in calls:
            request = {"name": tool, "arguments": resolved(arguments, home)}
            assert direct.ask("tools/call", request) == proxied.ask("tools/call", request), tool
    finally:
        direct.close()
        proxied.close()


def ways_for(name, script, home, tmp_path):
    arguments = {"server-everything": ["stdio"], "server-filesystem": [str(home)]}.get(name, [])
    made = []
    for way, proxy in (("direct", []), ("proxied", PROXY)):
        environment = {
            **os.environ,
            "FAILSOFT_HOME": str(tmp_path),
            "FAILSOFT_CONFIG": "none",
            "MEMORY_FILE_PATH": str(tmp_path / f"{way}.jsonl"),
        }
        made.append(Peer([*proxy, "node", script, *arguments], environment))
    return made


def resolved(arguments, home):
    path = arguments.get("path")
    if path is None or path.startswith("/"):
        return arguments
    return {**arguments, "path": str(home if path == "." else home / path)}
