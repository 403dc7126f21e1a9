"""`failsoft mcp` as a client starts it, driven by the official client and by hand."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from failsoft.isolation.supervisor import descendants

HERE = Path(__file__).parent
TOY = str(HERE / "toy_server.py")
PROXY = ["-c", "from failsoft.cli import main; raise SystemExit(main())", "mcp"]

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def environment(tmp_path):
    return {
        **os.environ,
        "TOY_EFFECTS": str(tmp_path / "effects"),
        "FAILSOFT_HOME": str(tmp_path),
        "FAILSOFT_CONFIG": "none",
    }


@pytest.fixture
def start(environment, tmp_path):
    """Start the proxy by hand; whatever is left of it is killed."""
    made = []

    def begin(*arguments, **more):
        made.append(
            subprocess.Popen(
                [sys.executable, *PROXY, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=tmp_path,
                **more,
            )
        )
        return made[-1]

    yield begin
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(process, id, method, **params):
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def gone(pids, within_s=8.0):
    until = time.monotonic() + within_s
    while any(os.path.exists(f"/proc/{pid}/exe") and os.path.exists(f"/proc/{pid}/maps") for pid in pids):
        if all(_is_zombie(pid) for pid in pids if os.path.exists(f"/proc/{pid}")):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_the_official_client_works_through_it(environment, tmp_path):
    """The SDK's client initialises, lists, calls, and reads errors and structured results through the proxy."""
    parameters = StdioServerParameters(
        command=sys.executable, args=[*PROXY, "--", sys.executable, TOY], env=environment, cwd=tmp_path
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "toy"
        tools = await session.list_tools()
        assert tools.tools[0].name == "look"
        result = await session.call_tool("look", {"n": 3})
        assert result.structured_content == {"n": 3}
        lost = await session.call_tool("look", {"n": 1, "how": "crash after"})
        assert lost.content[0].text == "look 1"
        wrong = await session.call_tool("look", {"n": "three"})
        assert wrong.is_error
        assert wrong.meta["failsoft"]["error"] == "invalid_argument"


def test_a_file_of_requests_is_answered_whole(environment, tmp_path):
    """Requests from a file, whose end comes before the answers, are all answered."""
    requests = [
        {
            "jsonrpc": "2.0",
            "id": id,
            "method": "tools/call",
            "params": {"name": "look", "arguments": {"n": id}},
        }
        for id in range(20)
    ]
    file = tmp_path / "requests"
    file.write_text("\n".join(map(json.dumps, requests)))
    with file.open() as source:
        done = subprocess.run(
            [sys.executable, *PROXY, "--", sys.executable, TOY],
            stdin=source,
            capture_output=True,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert done.returncode == 0


def test_a_command_that_is_not_there_is_said(start):
    """A server that cannot be started ends the proxy with code 1 and the reason on standard error."""
    process = start("--", "no-such-server")
    _, told = process.communicate(timeout=15)
    assert process.returncode == 1
    assert b"no-such-server" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_the_server(start, number):
    """After a signal nothing is left of the proxy and the server, and the exit code says so."""
    process = start("--", sys.executable, TOY, "stay")
    ask(process, 1, "ping")
    tree = descendants(process.pid)
    assert len(tree) == 2
    process.send_signal(number)
    assert process.wait(10) == 130
    assert gone(tree)


def test_a_killed_proxy_leaves_nothing(start):
    """When the proxy is killed, the server's tree ends although nobody is there to end it."""
    process = start("--", sys.executable, TOY, "stay")
    ask(process, 1, "tools/call", name="act", arguments={"how": "orphan"})
    tree = descendants(process.pid)
    assert len(tree) == 3
    process.kill()
    process.wait(5)
    assert gone(tree)


def test_a_doubt_outlives_the_proxy(start, environment):
    """A call that acts and was cut off by the proxy's death is in doubt in the next one, and `failsoft doubts` shows it."""
    first = start("--", sys.executable, TOY)
    message = {"name": "act", "arguments": {"how": "crash always", "n": 8}}
    answer = ask(first, 1, "tools/call", **message)
    doubt = answer["result"]["_meta"]["failsoft"]["doubt"]
    first.communicate(timeout=15)
    second = start("--", sys.executable, TOY)
    again = ask(second, 1, "tools/call", **message)
    assert again["result"]["_meta"]["failsoft"]["doubt"] == doubt
    command = [sys.executable, "-c", PROXY[1], "doubts", "--json"]
    listed = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert doubt.encode() in listed.stdout


def test_the_users_word_wins_over_the_annotations(start):
    """`--read-only` makes a tool repeatable that its server says acts."""
    process = start("--read-only", "act", "--", sys.executable, TOY)
    answer = ask(process, 1, "tools/call", name="act", arguments={"how": "crash after", "n": 1})
    assert answer["result"]["content"][0]["text"] == "act 1"


def test_several_servers_are_one(start, tmp_path):
    """Servers of one file share a list; names that clash have the server's before them, and reach it."""
    server = {"command": sys.executable, "args": [TOY]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": server, "b": server, "c": {**server, "disabled": True}}}))
    process = start("--config", str(file))
    hello = ask(process, 1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    assert hello["result"]["serverInfo"]["name"] == "failsoft"
    listed = ask(process, 2, "tools/list")
    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert "a__look" in names
    assert "b__look" in names
    assert len(names) == 10
    answer = ask(process, 3, "tools/call", name="b__look", arguments={"n": 2})
    assert answer["result"]["content"][0]["text"] == "look 2"
    assert ask(process, 4, "own/unknown")["result"]["echo"]["method"] == "own/unknown"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ('{"mcpServers": {}}', "no servers"),
        ('{"mcpServers": {"a": {}}}', "either a `command` or a `url`"),
        ('{"mcpServers": {"a": {"command": "x", "failsoft": {"trusty": 1}}}}', "trusty"),
        (
            '{"mcpServers": {"a": {"command": "x", "failsoft": {"tools": {"t": {"rad_only": 1}}}}}}',
            "rad_only",
        ),
        ('{"mcpServers": {"a": {"command": "x", "failsoft": {"trust": "some"}}}}', "trust is one of"),
    ],
)
def test_a_file_that_cannot_work_is_misuse(tmp_path, text, told, capsys):
    """Mistakes in a file of servers end with code 2 and the place."""
    from failsoft.cli.app import run

    file = tmp_path / "mcp.json"
    file.write_text(text)
    assert run(["mcp", "--config", str(file)]) == 2
    assert told in capsys.readouterr().err


async def test_asyncio_is_quiet(environment, tmp_path):
    """A whole session leaves no word on standard error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *PROXY,
        "--",
        sys.executable,
        TOY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, "PYTHONWARNINGS": "default", "PYTHONASYNCIODEBUG": "1"},
        cwd=tmp_path,
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {}}}
    out, err = await asyncio.wait_for(process.communicate(json.dumps(call).encode() + b"\n"), 15)
    assert b"look 0" in out
    assert b"Warning" not in err
    assert b"Traceback" not in err
