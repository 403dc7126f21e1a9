"""A run of six turns, killed before and after each model request and each call, ends as if nothing had happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(180)]
SCRIPT = Path(__file__).with_name("crashing_run.py")
TURNS = 6


def start(folder: Path, *points: str) -> subprocess.CompletedProcess[str]:
    """One process that works on the run."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), *points],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict:
    """How the run ends where nothing is killed."""
    ended = start(tmp_path_factory.mktemp("undisturbed"))
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["reason"], len(told["messages"])) == ("finished", 2 * TURNS + 2)
    return told


@pytest.mark.parametrize("turn", range(1, TURNS + 2))
def test_killed_at_every_point_of_a_turn_it_ends_the_same(turn, undisturbed, tmp_path):
    """Four kills by SIGKILL in one turn: the same transcript, each effect once, no doubt left."""
    points = [f"model-{turn}", f"answered-{turn}"]
    if turn <= TURNS:
        points += [f"call-{turn}", f"effect-{turn}"]
    for _ in points:
        killed = start(tmp_path, *points)
        assert killed.returncode == -9, killed.stderr
    last = start(tmp_path, *points)
    assert last.returncode == 0, last.stderr
    assert json.loads(last.stdout) == undisturbed
    assert (tmp_path / "effects").read_text().split() == [str(n) for n in range(1, TURNS + 1)]
