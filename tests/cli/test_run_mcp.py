"""`failsoft run --mcp`: an agent over the tools of MCP servers, which end with it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.servers.base import Fault, Line
from tests.cli.model_server import model

HERE = Path(__file__).parent
TOY = HERE.parent / "adapters" / "mcp" / "toy_server.py"
COMMAND = f"{sys.executable} -u {TOY}"
LOOK = Line(calls=(("look", {"n": 4}), ("price", {"item": "nail", "count": 2})))
DONE = Line(text="Four.")

pytestmark = [pytest.mark.process, pytest.mark.server]


@pytest.fixture(autouse=True)
def effects(monkeypatch, tmp_path):
    """Where the toy server notes what it does."""
    file = tmp_path / "effects"
    monkeypatch.setenv("TOY_EFFECTS", str(file))
    return file


def test_tools_of_a_server_and_of_a_module_are_used_together(cli, capsys, effects):
    """One run calls both, and the server has ended when the command has."""
    with model([LOOK, DONE]) as url:
        code = cli("run", "--mcp", COMMAND, "--tools", "shop", "--base-url", url, "--json", "How many?")
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert (code, data["text"]) == (0, "Four."), told.err
    assert [(call["tool"], call["ok"]) for call in data["calls"]] == [("look", True), ("price", True)]
    assert "try look 4" in effects.read_text()
    assert ("effects not declared: plain" in told.err, "--mcp-config" in told.err) == (True, True)


def test_two_servers_of_one_kind_are_told_apart(cli, capsys):
    """Where two servers have a tool of the same name, both get their server's name before it."""
    with model([Line(calls=(("look", {"n": 1}),)), DONE]) as url:
        assert cli("run", "--mcp", COMMAND, "--mcp", COMMAND, "--base-url", url, "Look.") == 0
    assert "unknown_tool" in capsys.readouterr().err


def test_a_server_from_a_file_has_its_name_and_what_is_said_of_it(cli, capsys, tmp_path):
    """`--mcp-config` reads the file that desktop clients use; what is declared there is believed."""
    own = {"tools": {"plain": {"read_only": True}}}
    entry = {"command": sys.executable, "args": ["-u", str(TOY)], "failsoft": own}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"toy": entry}}))
    crash = Line(calls=(("plain", {"how": "crash after", "n": 1}),))
    with model([crash, DONE]) as url:
        assert cli("run", "--mcp-config", "mcp.json", "--base-url", url, "--json", "Go.") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["calls"] == [{"tool": "plain", "ok": True, "attempts": 2, "doubt": None}]
    assert "effects not declared" not in told.err


def test_a_crash_in_a_call_that_acts_leaves_a_doubt_and_the_run_goes_on(cli, capsys, effects):
    """The call is not sent again, its doubt is told, and the server that was started again is used."""
    crash = Line(calls=(("act", {"how": "crash after", "n": 7}),))
    with model([crash, Line(calls=(("look", {"n": 8}),)), DONE]) as url:
        assert cli("run", "--mcp", COMMAND, "--base-url", url, "--json", "Act.") == 0
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert [(call["ok"], call["attempts"]) for call in data["calls"]] == [(False, 1), (True, 1)]
    assert data["doubts"] == [data["calls"][0]["doubt"]] != [None]
    assert effects.read_text().count("effect act 7") == 1
    assert data["doubts"][0] in told.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--mcp", "no-such-server x"), 1, "`no-such-server x` cannot be used: There is no 'no-such-server'"),
        (("--mcp", f"{COMMAND} fail-start"), 1, "fail-start` cannot be used: it ended with exit code 1."),
        (("--mcp", "a 'b"), 2, 'is a command line or a URL, got "a \'b": No closing quotation'),
        (("--mcp", " "), 2, "is a command line or a URL, got ' '"),
        (("--mcp-url", "example.com"), 2, "--mcp-url is a URL, got 'example.com'"),
        (("--mcp-url", "http://127.0.0.1:9/mcp"), 1, "could not be reached"),
        (("--mcp-config", "nothing.json"), 2, "nothing.json cannot be read"),
    ],
)
def test_a_server_that_cannot_be_used_is_named(cli, capsys, arguments, code, says):
    """Before the model is asked; with what was wanted and why it cannot be."""
    assert cli("run", *arguments, "--base-url", "http://127.0.0.1:9", "Go.") == code
    told = capsys.readouterr()
    assert (told.out, says in told.err) == ("", True), told.err


def test_the_command_to_go_on_has_the_servers(cli, capsys):
    """A run that waits for a person prints a command that starts the same servers again."""
    lines = [Line(calls=(("look", {"how": "error", "n": 1}),))] * 4
    with model([*lines, DONE]) as url:
        assert cli("run", "--mcp", COMMAND, "--base-url", url, "--json", "Look.") == 3
        go_on = json.loads(capsys.readouterr().out)["waits_for"]["go_on"]
        assert f"--mcp '{COMMAND}'" in go_on
        run_id = go_on.split()[3]
        assert cli("run", "--resume", run_id, "--mcp", COMMAND, "--base-url", url, "--answer", "Say 4.") == 0
        assert capsys.readouterr().out == "Four.\n"


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_an_interrupt_ends_the_server_with_all_that_it_started(tmp_path, effects):
    """Ctrl-C in the middle of a call: 130, the command to go on, and no process is left."""
    mark = 271_000 + os.getpid() % 1000
    body = f"import subprocess; subprocess.Popen(['sleep', '{mark}'])\n{TOY.read_text()}"
    (tmp_path / "server.py").write_text(body)
    with model([Line(calls=(("act", {"how": "hang", "n": 1}),))], faults=[None, Fault(kind="hang")]) as url:
        command = [sys.executable, "-m", "failsoft", "run", "--mcp", f"{sys.executable} server.py"]
        process = subprocess.Popen(
            [*command, "--base-url", url, "Act."],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 30
        while "try act" not in (effects.read_text() if effects.exists() else ""):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(2)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, ""), err
    assert "go on with: failsoft run --resume" in err
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"sleep {mark}" not in left
