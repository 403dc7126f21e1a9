"""Ctrl-C and SIGTERM, once and twice, in a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

HERE = Path(__file__).parent


def interrupted(seconds: float, *signals: int, gap_s: float = 0.2) -> tuple[int, str, float]:
    """Exit code, output, and seconds from the first signal to the end."""
    command = [
        sys.executable,
        "-m",
        "failsoft",
        "call",
        "slow_desk",
        "work",
        json.dumps({"seconds": seconds}),
    ]
    started = subprocess.Popen(
        [*command, "--json"],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ,
    )
    assert started.stdout is not None
    line = started.stdout.readline()
    while "begun" not in line:
        assert line, "it ended before it began"
        line = started.stdout.readline()
    began = time.monotonic()
    for number in signals:
        started.send_signal(number)
        time.sleep(gap_s)
    output, _ = started.communicate(timeout=15)
    return started.returncode, output, time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_lets_what_runs_end(number):
    """A call that ends within the grace ends in the ordinary way, and its result is printed."""
    code, output, _ = interrupted(0.6, number)
    assert "cancelled" not in output
    assert '"ok": true' in output
    assert code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_once_stops_what_outlasts_the_grace(number):
    """After the grace the body is cancelled, and the answer says that it may have happened."""
    code, output, took = interrupted(30, number)
    assert "cancelled" in output
    assert code in (1, 130)
    assert '"shutting_down"' in output
    assert 1.2 < took < 8


def test_twice_is_now():
    """The second signal does not wait for the grace."""
    code, output, took = interrupted(30, signal.SIGINT, signal.SIGINT)
    assert "cancelled" in output
    assert code == 130
    assert took < 1.4
