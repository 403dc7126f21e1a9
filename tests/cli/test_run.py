"""`failsoft run`: the answer on stdout, the steps on stderr, and runs that wait for a person."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from failsoft.stores import open_store
from tests.agent.servers.base import Fault, Line
from tests.cli.model_server import APIS, model

HERE = Path(__file__).parent
PRICE = Line(text="Let me see.", calls=(("price", {"item": "nail", "count": 2}),))
SAFE = Line(calls=(("open_safe", {}),))
DONE = Line(text="It costs 10.")


@pytest.mark.parametrize("api", APIS)
def test_the_answer_goes_to_stdout_and_the_steps_to_stderr(cli, capsys, api):
    """A pipe gets the answer and nothing else, whatever the endpoint speaks."""
    with model(
        [PRICE, DONE], api, faults=[Fault(kind="status", status=429, headers={"retry-after-ms": "1"})]
    ) as url:
        code = cli("run", "--tools", "shop", "--base-url", url, "--api", api, "--model", "m", "What is it?")
    told = capsys.readouterr()
    assert (code, told.out) == (0, "It costs 10.\n")
    assert "→ price" in told.err
    assert "✓ price" in told.err
    assert "for the model" in told.err


def test_json_tells_everything(cli, capsys):
    """One document on stdout: how it ended, the calls, what it cost."""
    with model([PRICE, DONE]) as url:
        assert cli("run", "--tools", "shop", "--base-url", url, "--json", "What is it?") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["stop_reason"], data["text"], data["turns"]) == ("finished", "It costs 10.", 2)
    assert data["calls"] == [{"tool": "price", "ok": True, "attempts": 1, "doubt": None}]
    assert data["usage"]["requests"] == 2


def test_a_run_waits_for_an_approval_and_goes_on(cli, capsys):
    """Without a terminal the exit code is 3, and the printed command goes on with exactly that call."""
    with model([SAFE, DONE]) as url:
        options = ("--tools", "shop:open_safe", "--base-url", url)
        assert cli("run", *options, "--json", "Open it.") == 3
        told = capsys.readouterr()
        waits = json.loads(told.out)["waits_for"]
        assert (waits["tool"], waits["arguments"]) == ("open_safe", {})
        assert f"{waits['go_on']} --approve {waits['code']}" in told.err
        run_id = waits["go_on"].split()[3]
        assert cli("run", "--resume", run_id, *options) == 3  # asked again, nothing was run
        assert cli("run", "--resume", run_id, *options, "--approve", "0123456789") == 3
        assert "is not for this call of open_safe" in capsys.readouterr().err
        assert cli("run", "--resume", run_id, *options, "--approve", waits["code"]) == 0
        assert capsys.readouterr().out == "It costs 10.\n"
        assert cli("run", "--resume", run_id, *options) == 0  # told again, not done again
        told = capsys.readouterr()
        assert (told.out, "is finished" in told.err) == ("It costs 10.\n", True)
        assert cli("run", "--resume", run_id, *options, "--json") == 0
        again = json.loads(capsys.readouterr().out)
        assert [(call["tool"], call["ok"]) for call in again["calls"]] == [("open_safe", True)]
        assert (again["turns"], again["usage"]["requests"], again["waits_for"]) == (2, 2, None)
        assert cli("run", "--resume", run_id, *options, "--approve") == 2
        assert "is finished and waits for no answer" in capsys.readouterr().err


def test_a_run_that_somebody_works_on_is_not_taken_up(cli, capsys, tmp_path):
    """The second of two who answer at once ends with 1 and is told why; nothing is run twice."""

    async def take():
        store = open_store(f"sqlite:///{tmp_path}/.failsoft/failsoft.db")
        assert await store.hold_run("task-8", "somebody", 60)
        await store.close()

    with model([SAFE]) as url:
        options = ("--tools", "shop:open_safe", "--base-url", url)
        assert cli("run", *options, "--id", "task-8", "Open it.") == 3
        asyncio.run(take())
        capsys.readouterr()
        assert cli("run", *options, "--resume", "task-8", "--approve") == 1
    told = capsys.readouterr()
    assert (told.out, "run_taken" in told.err, "✓" in told.err) == ("", True, False)


def test_a_stuck_run_takes_an_answer_or_is_given_up(cli, capsys):
    """At a limit the run waits too; text goes to the model, giving up ends it with 1."""
    lines = [Line(calls=(("price", {"item": "gone"}),))] * 4
    with model([*lines, DONE]) as url:
        options = ("--tools", "shop", "--base-url", url)
        assert cli("run", *options, "--json", "What is it?") == 3
        run_id = json.loads(capsys.readouterr().out)["run_id"]
        assert cli("run", "--resume", run_id, *options, "--answer", "Say 10.") == 0
        assert capsys.readouterr().out == "It costs 10.\n"
    with model(lines) as url:
        options = ("--tools", "shop", "--base-url", url)
        assert cli("run", *options, "--json", "What is it?") == 3
        run_id = json.loads(capsys.readouterr().out)["run_id"]
        assert cli("run", "--resume", run_id, *options, "--give-up") == 1
        assert "Stopped by a person" in capsys.readouterr().err


def test_a_run_of_one_id_is_begun_once(cli, capsys):
    """A chosen id can be begun once; what is begun a second time by mistake is told to go on instead."""
    with model([DONE]) as url:
        assert cli("run", "--id", "task-7", "--base-url", url, "Go.") == 0
        assert cli("run", "--id", "task-7", "--base-url", url, "Go.") == 2
    assert "--resume task-7" in capsys.readouterr().err


def test_what_stops_a_run_is_said(cli, capsys):
    """A model that cannot be asked ends with 1 and the reason; a limit is taken from the command line."""
    with model([PRICE], faults=[Fault(kind="status", status=400)] * 9) as url:
        assert cli("run", "--tools", "shop", "--base-url", url, "Go.") == 1
    assert "could not be reached" in capsys.readouterr().err
    with model([PRICE]) as url:
        assert cli("run", "--tools", "shop", "--base-url", url, "--limits", "max_turns=1", "Go.") == 3
    assert "1 turns were used" in capsys.readouterr().err


REFUSALS = {
    "no key": (401, "authentication_error", "invalid x-api-key", "Check the key in ANTHROPIC_API_KEY; http"),
    "no model": (404, "not_found_error", "model: m", "was asked for 'm' (--model); check the address too"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_an_endpoint_that_refuses_is_named_with_what_to_do(cli, capsys, case):
    """Which endpoint was asked, with what, and which option to look at; the same in JSON."""
    status, kind, message, says = REFUSALS[case]
    body = {"type": "error", "error": {"type": kind, "message": message}}
    with model([DONE], faults=[Fault(kind="status", status=status, body=body)] * 2) as url:
        assert cli("run", "--base-url", url, "--model", "m", "--json", "Go.") == 1
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert (data["stop_reason"], message in data["errors"][0]["message"]) == ("model_error", True)
    assert says in told.err
    assert any(says in line for line in data["advice"])


def test_nothing_that_answers_is_said_with_the_address(cli, capsys, monkeypatch):
    """An endpoint that is not there: its address and the option."""
    monkeypatch.setattr("failsoft.agent.asking.MODEL_RETRY", None)
    limits = ("--limits", "wall_s=1")
    assert cli("run", "--base-url", "http://127.0.0.1:9", *limits, "Go.") == 1
    assert "Check that something answers at http://127.0.0.1:9 (--base-url)" in capsys.readouterr().err


def test_a_model_without_tools_is_told_of_by_the_options_that_give_them(cli, capsys):
    """It asks for a tool again and again; a run of that kind offers no approval."""
    with model([PRICE] * 4) as url:
        assert cli("run", "--base-url", url, "Go.") == 3
    told = capsys.readouterr().err
    assert ("--tools MODULE or --mcp CMD" in told, "--approve" in told) == (True, False)


def test_a_run_in_memory_offers_no_way_to_go_on(cli, capsys):
    """Its state is gone with the command, and that is said."""
    with model([SAFE]) as url:
        options = ("--tools", "shop:open_safe", "--base-url", url, "--store", "memory")
        assert cli("run", *options, "Open it.") == 3
    told = capsys.readouterr().err
    assert ("its store was in memory" in told, "--resume" in told) == (True, False)


def test_limits_are_named_as_options(cli, capsys):
    """What a person could do is said in the words of the command line."""
    with model([PRICE, DONE]) as url:
        options = ("--tools", "shop", "--base-url", url, "--limits", "tokens=1")
        assert cli("run", *options, "Go.") == 1
    assert "Raise --limits wall_s=N or --limits tokens=N" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "give a question"),
        (("--resume", "r1", "And this?"), "give a question, or"),
        (("--resume", "r1", "--id", "r2"), "give a question, or"),
        (("--approve", "abc", "Go."), "--resume RUN"),
        (("--resume", "r1", "--approve", "--give-up"), "one answer at a time"),
        (("--limits", "turns=3", "Go."), "there is no limit 'turns'"),
        (("--limits", "max_turns=many", "Go."), "wants a number"),
        (("--api", "openai", "Go."), "needs --model"),
        (("--resume", "r1"), "there is no store here"),
        (("--resume", "r1", "--store", "memory"), "a store in memory is gone"),
        (("--resume", "r1", "--tools", "shop"), "there is no run 'r1' to go on with in sqlite:///"),
        (("--base-url", "127.0.0.1:9", "Go."), "--base-url is a URL, got '127.0.0.1:9'"),
        (("--tools", "nowhere", "Go."), "there is no module 'nowhere'"),
    ],
)
def test_misuse_ends_with_2(cli, capsys, monkeypatch, arguments, says):
    """A wrong command line is answered on stderr."""
    for name in ("FAILSOFT_MODEL", "FAILSOFT_API", "FAILSOFT_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert cli("run", *arguments) == 2
    assert says in capsys.readouterr().err


def test_a_password_in_an_option_is_not_printed_again():
    """The command to go on leaves it out."""
    from failsoft.cli.run_parts import command_to_go_on

    url = "postgresql://ann:hunter2secret@db.example/failsoft"
    told = command_to_go_on("r1", tools=("shop",), mcp=(f"server --db {url}",), model=None, store=url)
    assert told == "failsoft run --resume r1 --tools shop --mcp MCP-AS-BEFORE --store STORE-AS-BEFORE"


def opening_at_a_terminal(url, folder):
    """The command, asked for something that needs approval, and our end of its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "failsoft",
            "run",
            "--tools",
            "shop:open_safe",
            "--base-url",
            url,
            "Open it.",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    return process, ours


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("typed", "code", "printed"),
    [("a\n", 0, "It costs 10."), ("\n", 3, ""), ("g\n", 1, ""), ("c\n{}\n", 0, "It costs 10.")],
    ids=["approve", "later", "give up", "correct"],
)
def test_a_person_at_the_terminal_is_asked(tmp_path, typed, code, printed):
    """The question and the call are shown on stderr, and what is typed is done."""
    with model([SAFE, DONE]) as url:
        process, ours = opening_at_a_terminal(url, tmp_path)
        os.write(ours, typed.encode())
        out, err = process.communicate(timeout=40)
        os.close(ours)
    assert (process.returncode, out.strip()) == (code, printed), err
    assert "May open_safe run?" in err
    assert "a: approve" in err


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(60)
def test_ctrl_c_is_heard_while_a_person_is_asked(tmp_path):
    """The question ends with 130 and the command to go on; the run still waits."""
    with model([SAFE, DONE]) as url:
        process, ours = opening_at_a_terminal(url, tmp_path)
        seen = ""
        while "a: approve" not in seen:
            seen += process.stderr.readline()
        process.send_signal(2)
        out, err = process.communicate(timeout=40)
        os.close(ours)
    assert (process.returncode, out) == (130, ""), err
    assert "go on with: failsoft run --resume" in err
    assert "Fatal" not in err


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(90)
def test_an_interrupted_run_says_how_to_go_on(tmp_path):
    """Ctrl-C ends with 130 and the command; the run is there."""
    with model([PRICE, DONE], faults=[None, Fault(kind="hang")]) as url:
        process = subprocess.Popen(
            [sys.executable, "-m", "failsoft", "run", "--tools", "shop", "--base-url", url, "What is it?"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(HERE)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        seen = ""
        while "✓ price" not in seen:
            seen += process.stderr.readline()
        time.sleep(0.3)  # the next request is on its way
        process.send_signal(2)
        _, err = process.communicate(timeout=40)
        assert process.returncode == 130, err
        go_on = next(line for line in err.splitlines() if "go on with: " in line).split("go on with: ")[1]
        again = subprocess.run(
            [sys.executable, "-m", *go_on.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(HERE)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert (again.returncode, again.stdout) == (0, "It costs 10.\n"), again.stderr
    assert "price" not in again.stderr
