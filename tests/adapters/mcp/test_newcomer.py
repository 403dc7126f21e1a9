"""What goes wrong on the first day, and what is said then."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from failsoft.adapters.mcp.config import ServerSpec, load_servers
from failsoft.adapters.mcp.doctor import snippet_for
from failsoft.cli.app import run
from tests.adapters.mcp.conftest import Client as Fake

TOY = str(Path(__file__).parent / "toy_server.py")
PROXY = [sys.executable, "-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILSOFT_HOME", str(tmp_path))
    monkeypatch.setenv("FAILSOFT_CONFIG", "none")
    monkeypatch.delenv("NOT_SET", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--", "no-such-command"], 1, "There is no 'no-such-command' to run"),
        (["--url", "example.com/mcp"], 2, "begins with http:// or https://"),
        (["--url", "http://a/mcp", "--header", "Authorization: Bearer ${NOT_SET}"], 2, "no NOT_SET"),
        (
            ["--url", "http://a/mcp", "--header", "A: ${input:token}"],
            2,
            "${input:token} is asked of a person",
        ),
        (["--url", "http://a/mcp", "--header", "Authorization"], 2, "without a colon"),
        (["--pass-authorization", "--", "server"], 2, "clients over --http of one server behind --url"),
        (["--login", "--", "server"], 2, "a login is to a server behind a URL"),
        (["--doctor", "--url", "http://127.0.0.1:9/mcp"], 1, "nothing listens there"),
        (["--doctor", "--url", "http://no.such.host.invalid/mcp"], 1, "the name of its host is not known"),
    ],
)
def test_what_cannot_work_is_said(words, code, said, capfd):
    """A wrong command, address, header or variable ends with what was wanted, and with no traceback."""
    assert run(["mcp", *words]) == code
    out, errors = capfd.readouterr()
    assert said in errors
    assert "Traceback" not in errors
    assert not out


def test_a_port_that_is_in_use_is_said(capfd):
    """The number is named, and the way to a free one."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]
        assert run(["mcp", "--http", str(port), "--", sys.executable, TOY]) == 2
    errors = capfd.readouterr().err
    assert f"port {port} cannot be had" in errors
    assert "--http 0" in errors


def test_variables_are_filled_in_late(tmp_path, monkeypatch):
    """What a file says of variables is shown as it is written, and filled in where the server is reached."""
    file = tmp_path / "mcp.json"
    entry = {"url": "https://${HOST:-example.com}/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}
    local = {"command": "run", "args": ["${TOKEN}", "${NOT_SET}", "${NOT_SET:-}"], "env": {"KEY": "${TOKEN}"}}
    file.write_text(json.dumps({"mcpServers": {"far": entry, "near": local}}))
    monkeypatch.setenv("TOKEN", "secret")
    far, near = load_servers(file)
    assert "secret" not in repr(far) + repr(near) + json.dumps(snippet_for(far))
    assert far.reached_at() == ("https://example.com/mcp", {"Authorization": "Bearer secret"})
    child = near.connect()
    assert child.argv == ["run", "secret", "${NOT_SET}", ""]
    assert child.env == {"KEY": "secret"}


def test_the_snippet_shows_no_secret():
    """A header that was given with its value is shown as a variable."""
    spec = ServerSpec(name="far", url="https://example.com/mcp", headers={"X-Key": "secret"})
    entry = snippet_for(spec)["mcpServers"]["far"]
    assert entry["args"][-2:] == ["--header", "X-Key: ${X_KEY}"]
    assert entry["env"] == {"X_KEY": "..."}


@pytest.mark.process
@pytest.mark.slow
def test_files_on_both_sides(tmp_path):
    """Requests can come from a file and answers go to one."""
    (tmp_path / "in").write_text('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with open(tmp_path / "in") as source, open(tmp_path / "out", "w") as sink:
        subprocess.run([*PROXY, "--", sys.executable, TOY], stdin=source, stdout=sink, check=True, timeout=60)
    assert json.loads((tmp_path / "out").read_text())["result"]["echo"]["method"] == "ping"


@pytest.mark.process
@pytest.mark.slow
def test_of_several_servers_those_that_can_serve(tmp_path):
    """A dead server, and one whose variable is missing, are left out and named; the others serve."""
    file = tmp_path / "mcp.json"
    servers = {
        "toy": {"command": sys.executable, "args": [TOY]},
        "dead": {"command": "no-such-command"},
        "unset": {"url": "http://127.0.0.1:9/mcp", "headers": {"A": "${NOT_SET}"}},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    requests = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    done = subprocess.run(
        [*PROXY, "--config", str(file)], input=requests, capture_output=True, text=True, timeout=60
    )
    assert [each["name"] for each in json.loads(done.stdout)["result"]["tools"]][:2] == ["look", "act"]
    assert "the server dead is left out: There is no 'no-such-command' to run" in done.stderr
    assert "the server unset is left out" in done.stderr
    assert "no NOT_SET" in done.stderr


@pytest.mark.process
async def test_a_server_that_writes_what_is_no_message():
    """Its first words are in what the client is told, so that a banner or a traceback on standard output is seen."""
    from failsoft.adapters.mcp.restarts import Restarts
    from failsoft.adapters.mcp.running import make_session

    code = "print('Welcome to the server'); input(); raise SystemExit(3)"
    client = Fake()
    spec = ServerSpec(name="s", argv=(sys.executable, "-u", "-c", code), restarts=Restarts(most=0))
    client.session = make_session(spec, client, store="memory", config=None)
    await client.session.start()
    try:
        async with asyncio.timeout(15):
            answer = await client.ask("initialize", {})
    finally:
        await client.session.aclose()
    assert "exit code 3" in answer["error"]["message"]
    assert "Welcome to the server" in answer["error"]["message"]
