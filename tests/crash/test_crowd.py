"""Many processes, one store, the same keys, kills and clocks that disagree: at most one effect for each key."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(120)]
ROOT = Path(__file__).parents[2]


def crowd(url: str, folder: Path, seed: int) -> dict:
    """Run it in a process that has no threads."""
    command = [sys.executable, "-m", "tests.crash.crowd", url, str(folder), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def judge(found: dict) -> None:
    """What a model of one key allows: one effect at most, and an end that agrees with the world."""
    assert found["statuses"] == [0] * 8
    assert max(found["effects"].values()) == 1
    for order, (verdict, doubt) in found["said"].items():
        happened = found["effects"][order]
        # Done and known; or a doubt that is listed; or certainly not done, and free to be asked for again.
        assert (verdict, doubt is not None, happened) in {
            ("Replay", False, 1),
            ("InDoubt", True, 1),
            ("InDoubt", True, 0),
            ("Go", False, 0),
        }, (order, verdict, doubt, happened)
        assert doubt != "double_effect", "nobody has said that something did not happen"
    answers = found["answers"]
    assert answers["Go"] >= 150
    assert answers["InDoubt"] > 0
    assert answers["Replay"] > 0
    assert answers["Running"] > 0


def test_eight_processes_share_a_file(tmp_path: Path) -> None:
    """Two hundred keys over SQLite."""
    judge(crowd(f"sqlite:///{tmp_path}/failsoft.db", tmp_path, 1))


@pytest.mark.server
def test_eight_processes_share_a_server(tmp_path: Path, postgres_server) -> None:
    """Two hundred keys over PostgreSQL, each process with a clock of its own in place of the server's."""
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS failsoft CASCADE")
    judge(crowd(postgres_server.url, tmp_path, 2))
