"""A process that dies between effect and settlement leaves a doubt, never a second effect. Real processes, real SIGKILL."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]

CHILD = Path(__file__).with_name("crash_child.py")
# point of death → how often the effect had happened by then, and what the next process must find
POINTS = {
    "before_look": (0, "fresh"),
    "after_look": (0, "fresh"),
    "before_begin": (0, "fresh"),
    "after_begin": (0, "doubt"),
    "in_body": (0, "doubt"),
    "after_effect": (1, "doubt"),
    "before_settle": (1, "doubt"),
    "after_settle": (1, "replay"),
}


def run_child(folder, point):
    """One process; its exit status and what it printed."""
    done = subprocess.run(
        [sys.executable, str(CHILD), str(folder / "f.db"), str(folder / "effects"), point],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr


def effects(folder):
    """The independent record of what has happened."""
    file = folder / "effects"
    return file.read_text().split() if file.exists() else []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_run_again(tmp_path, point):
    """Whatever the moment of death, the next process repeats nothing silently and lists what is in doubt."""
    happened, then = POINTS[point]
    status, _ = run_child(tmp_path, point)
    assert status == -signal.SIGKILL
    assert len(effects(tmp_path)) == happened
    status, said = run_child(tmp_path, "nowhere")
    assert status == 0, said
    if then == "fresh":
        assert said["ok"]
        assert not said["replayed"]
        assert effects(tmp_path) == ["o1"]
    elif then == "replay":
        assert said["replayed"]
        assert effects(tmp_path) == ["o1"]
    else:
        assert said["kind"] == "in_doubt"
        assert len(said["doubts"]) == 1
        assert len(effects(tmp_path)) == happened
