"""The command as a process of its own: streams, codes, encodings."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

HERE = Path(__file__).parent


def failsoft(*arguments, cwd=HERE, stdin="", **environment):
    """Start the command and wait for its end."""
    return subprocess.run(
        [sys.executable, "-m", "failsoft", *map(str, arguments)],
        cwd=cwd,
        input=stdin.encode(),
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_data_and_logs_do_not_mix(tmp_path):
    """With every log line asked for, stdout is JSON and nothing else."""
    ended = failsoft("call", "desk", "greet", '{"name": "Ann"}', "--json", FAILSOFT_LOG="debug")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["content"] == "hello Ann"
    assert b"call_finished" in ended.stderr


def test_utf8_whatever_the_locale():
    """A terminal's encoding does not change what is printed."""
    ended = failsoft("call", "desk", "greet", '{"name": "Jiří 你好"}', PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ended.stdout.decode("utf-8") == "hello Jiří 你好\n"


def test_input_without_end_and_input_that_is_no_text():
    """What is piped in is read up to a bound, and bytes that are no UTF-8 end in an answer."""
    script = f"{sys.executable} -m failsoft explain --json < /dev/zero"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 2)
    assert "only the first 1,000,000 characters are read" in ended.stderr
    script = f"printf '\\377\\376' | {sys.executable} -m failsoft call desk greet - --json"
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=HERE,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert json.loads(ended.stdout)["error"]["kind"] == "invalid_argument"


def test_a_reader_that_leaves_is_no_traceback(a_day):
    """`failsoft export | head -1` ends quietly."""
    script = f"{sys.executable} -m failsoft export --store sqlite:///{a_day[0]} | head -n 1"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert ended.stdout.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_codes_of_a_process(tmp_path):
    """0 finished, 1 not finished, 2 misuse."""
    assert failsoft("check", "desk", "--fail-on", "never").returncode == 0
    assert failsoft("check", "shop").returncode == 1
    assert failsoft("runs", cwd=tmp_path).returncode == 2
    assert failsoft("nonsense").returncode == 2
    assert failsoft("--version").stdout.strip().decode()


def test_reading_makes_nothing(tmp_path):
    """No command that only looks leaves a file behind."""
    for command in (["runs"], ["doubts"], ["stats"], ["export"], ["policy"], ["explain", "KeyError: 'x'"]):
        failsoft(*command, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
