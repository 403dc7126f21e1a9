"""A minute of the soak, and whether its judge sees what is wrong."""

from __future__ import annotations

import sqlite3

import pytest

from tests.soak.__main__ import CALLS_PER_S, main
from tests.soak.census import Census, descendants, take
from tests.soak.judge import faults
from tests.soak.load import Answer, Soak
from tests.soak.plot import draw, sparks


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(240)
def test_a_minute_holds(capsys):
    """2,000 calls with hangs and crashes: nothing lost, nothing twice, nothing left, the ledger right."""
    code = main(["--seconds", "60", "--seed", "7"])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert f"{round(60 * CALLS_PER_S)} of {round(60 * CALLS_PER_S)} calls" in printed


def ledger(folder, states: dict[int, str]) -> None:
    """A ledger with these states."""
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("CREATE TABLE claims (call_id, state)")
        connection.executemany("INSERT INTO claims VALUES (?, ?)", list(states.items()))
    connection.close()


def answer(n: int, kind: str = "", effect: str = "") -> Answer:
    return Answer(n, "inline", "work", not kind, kind, kind, effect)


def count(at_s: float, **changes: float) -> Census:
    fields = {"processes": 3, "threads": 5, "descriptors": 20, "memory_mb": 50.0, **changes}
    return Census(at_s=at_s, **fields)  # type: ignore[arg-type]


def test_the_judge_sees_what_is_wrong(tmp_path):
    """A lost result, an effect twice, a lie of the ledger's and each kind of leak are all named."""
    result = Soak(asked=5, before=count(0), after=count(9, processes=4, threads=9, descriptors=40))
    result.answers = {
        0: answer(0),
        1: answer(1),
        2: answer(2, "timeout", "possible"),
        3: answer(3, "overloaded", "none"),
    }
    result.counts = [count(n, memory_mb=50 + n * 10, threads=5 if n < 8 else 60) for n in range(12)]
    (tmp_path / "world").write_text("0\n0\n3\n4\n")
    ledger(tmp_path, {0: "succeeded", 1: "succeeded", 2: "running", 3: "failed"})
    text = "\n".join(faults(result, tmp_path))
    for expected in (
        "1 calls have no result",
        "0 took effect 2 times",
        "4 took effect and is not in the ledger",
        "succeeded, and nothing happened",
        "still running",
        "says failed, and it happened",
        "1 processes are left",
        "threads are left",
        "descriptors are left",
        "memory grew",
        "threads grew",
    ):
        assert expected in text


def test_the_judge_is_content(tmp_path):
    """Where all fits, nothing is named; a possible effect may be in doubt whether it happened or not."""
    result = Soak(asked=3, before=count(0), after=count(9))
    result.answers = {
        0: answer(0),
        1: answer(1, "timeout", "possible"),
        2: answer(2, "timeout", "possible"),
    }
    result.counts = [count(n) for n in range(12)]
    (tmp_path / "world").write_text("0\n1\n")
    ledger(tmp_path, {0: "succeeded", 1: "in_doubt", 2: "in_doubt"})
    assert faults(result, tmp_path) == []


@pytest.mark.slow
def test_charts(tmp_path):
    """Lines of text for every count, and an SVG."""
    counts = [count(n, memory_mb=50 + n) for n in range(100)]
    assert any(line.startswith("memory_mb") and "50-149" in line for line in sparks(counts))
    if draw(counts, tmp_path / "soak.svg"):
        assert "<svg" in (tmp_path / "soak.svg").read_text()
    assert take(1.0).threads >= 1
    assert isinstance(descendants(), list)
