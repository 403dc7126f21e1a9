"""Real processes, killed at every step between admit and report: nothing is repeated silently, nothing forgotten.

The long form is `./run py -m tests.crash --kills 1000`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.scenarios import RANDOM, TRIALS

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(170)]
ROOT = Path(__file__).parents[2]

SABOTAGE = """
import sys, tempfile
from pathlib import Path
from failsoft.stores import operations
from tests.crash.matrix import Matrix
from tests.crash.scenarios import Trial
{sabotage}
folder = Path(sys.argv[1])
matrix = Matrix(f"sqlite:///{{folder}}/failsoft.db", folder)
matrix.run(Trial(life="call_all", tool="charge", point="body:after", then="doubt"))
print(matrix.books.summary())
sys.exit(bool(matrix.books.repeated) + 2 * bool(matrix.books.forgotten))
"""


def crash(*rest: str) -> dict:
    """Run the matrix in a process that has no threads; its one row."""
    command = [sys.executable, "-m", "tests.crash", "--kills", "75", "--seconds", "70", *rest]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=160)
    assert done.stdout, done.stderr
    (row,) = json.loads(done.stdout)
    assert done.returncode == 0, (row, done.stderr)
    return row


def test_the_matrix_has_all_steps() -> None:
    """Every step from admit to report is there, and what zombies, verifiers and people do beside it."""
    steps = {trial.point for trial in TRIALS} - {RANDOM}
    assert len(steps) >= 25
    moments = {"asked", "entered", "written", "committed", "answered"}
    for verb in ("begin", "settle", "renew", "resolve", "recover"):
        assert moments <= {step.partition(":")[2] for step in steps if step.startswith(verb)}, verb


def test_kills_over_sqlite() -> None:
    """Each cell of the matrix once, over one file."""
    row = crash("--store", "sqlite")
    assert row["kills"] >= 40
    assert (row["repeated_silently"], row["forgotten"], row["faults"]) == (0, 0, [])
    assert row["in_doubt_and_listed"] > 15


@pytest.mark.server
def test_kills_over_postgres(postgres_server) -> None:
    """Each cell of the matrix once, over one server."""
    row = crash("--store", "postgres")
    assert row["kills"] >= 40
    assert (row["repeated_silently"], row["forgotten"], row["faults"]) == (0, 0, [])
    assert row["in_doubt_and_listed"] > 15


@pytest.mark.parametrize(
    ("sabotage", "noticed"),
    [
        ("", 0),
        ("operations.begin = lambda tables, intent: operations.go(intent)", 3),
    ],
)
def test_the_books_notice_a_ledger_that_lies(tmp_path, sabotage: str, noticed: int) -> None:
    """A claim that is never written is found out: the matrix would not pass by counting nothing."""
    code = SABOTAGE.format(sabotage=sabotage)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == noticed, (done.stdout, done.stderr)
