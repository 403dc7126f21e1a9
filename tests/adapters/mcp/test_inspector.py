"""What the protocol's own inspector prints of the reference servers is the same with and without the proxy."""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.adapters.mcp.conformance_suite import BUILD, PROXY
from tests.adapters.mcp.npm import installed
from tests.adapters.mcp.test_reference_servers import CACHE, PACKAGES

FULL = os.environ.get("FAILSOFT_CONFORMANCE") == "full"
INSPECTOR = "@modelcontextprotocol/inspector-cli@0.15.0"
ARCHITECTURE = "demo://resource/static/document/architecture.md"
READ, CALL = ("resources/read", "--uri", ARCHITECTURE), ("tools/call", "--tool-name")
ENTITY = '[{"name": "a", "entityType": "b", "observations": ["c"]}]'
LISTS = [("resources/list",), ("resources/templates/list",), ("prompts/list",)]
ASKED = {
    "everything": [
        ("tools/list",),
        (*CALL, "echo", "--tool-arg", "message=hello there"),
        ("resources/list",),
        READ,
        ("prompts/list",),
        ("prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Bern"),
    ],
    "filesystem": [("tools/list",), (*CALL, "read_text_file", "--tool-arg", "path=/etc/passwd")],
    "memory": [("tools/list",), (*CALL, "create_entities", "--tool-arg", f"entities={ENTITY}")],
}
MORE_CALLS = {
    "everything": [(*CALL, "get-sum", "--tool-arg", "a=2", "--tool-arg", "b=3")],
    "filesystem": [(*CALL, "list_directory", "--tool-arg", "path=HOME")],
    "memory": [(*CALL, "read_graph")],
}
# What a server has not is refused in the same words too; but for a tool, whose name the proxy answers with feedback.
MORE = [*LISTS, READ, ("prompts/get", "--prompt-name", "none")]

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(400)]


@pytest.fixture(scope="session")
def inspector():
    """The inspector's command line, and where the servers are."""
    cli = (
        installed(BUILD / "mcp-inspector-cli", [INSPECTOR])
        / "@modelcontextprotocol/inspector-cli/build/cli.js"
    )
    servers = installed(CACHE, [f"{name}@{version}" for name, version in PACKAGES.items()])
    return cli, servers / "@modelcontextprotocol"


def configured(folder, servers, name, way):
    """A file with one server, as desktop clients have it."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    arguments = {"everything": ["stdio"], "filesystem": [str(home)]}.get(name, [])
    command = ["node", str(servers / f"server-{name}" / "dist" / "index.js"), *arguments]
    if way == "through":
        # The inspector takes the two dashes for its own.
        script = folder / "proxy.sh"
        script.write_text(f"exec {shlex.join([*PROXY, '--', *command])}\n")
        command = ["sh", str(script)]
    environment = {
        "FAILSOFT_HOME": str(folder),
        "FAILSOFT_CONFIG": "none",
        "MEMORY_FILE_PATH": str(folder / f"{way}.jsonl"),
        "PATH": os.environ["PATH"],
    }
    file = folder / f"{way}.json"
    entry = {"command": command[0], "args": command[1:], "env": environment}
    file.write_text(json.dumps({"mcpServers": {name: entry}}))
    return file


def printed(cli, file, name, words, folder):
    """What it prints, and whether it is content."""
    words = [word.replace("HOME", str(folder / "home")) for word in words]
    command = ["node", str(cli), "--cli", "--config", str(file), "--server", name, "--method", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=folder)
    told = done.stderr.split("Failed ")[-1].splitlines()[:1] if done.returncode else []
    return done.returncode, done.stdout, told


@pytest.mark.skipif(sys.platform != "linux", reason="npm's packages are installed on Linux only")
@pytest.mark.parametrize("name", ASKED)
def test_it_prints_the_same(inspector, tmp_path, name):
    """Lists, calls, resources and prompts of a reference server are printed alike with and without the proxy."""
    cli, servers = inspector
    files = [configured(tmp_path, servers, name, way) for way in ("direct", "through")]
    with ThreadPoolExecutor(2) as pool:
        for words in (*ASKED[name], *((*MORE_CALLS[name], *MORE) if FULL else ())):
            direct, through = pool.map(
                lambda file, asked=words: printed(cli, file, name, asked, tmp_path), files
            )
            assert direct == through, words
            if words in ASKED[name]:
                assert direct[0] == 0, (words, direct)
