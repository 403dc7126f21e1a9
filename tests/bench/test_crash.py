"""The crash suite: when it kills, what it counts, and that it finds a system that repeats or forgets."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.crash.bank import Bank, Kill, pay, was_paid
from bench.crash.driver import MOMENTS, Books, Driver, kills_of
from bench.crash.systems import Setup, systems, with_failsoft
from tests.bench import careless

SETUP = Setup(title="t", page="p", promise="p")


def run_once(module: Any, setup: Setup, folder: Path, kills: int = 3) -> Books:
    """The books of one run of eight steps."""
    with module.beside(setup, folder) as beside:
        driver = Driver(module, setup, folder, beside)
        with driver.bank:
            driver.run("run-0", 8, *kills_of(random.Random(3), 8, kills))
    return driver.books


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[tuple[Bank, list[int]]]:
    """A bank, and a list that grows with each kill that it orders."""
    kills: list[int] = []
    with Bank(record=tmp_path / "record", kill=lambda: kills.append(1)) as open_bank:
        yield open_bank, kills


@pytest.mark.parametrize(("moment", "booked"), [("before", False), ("during", True)])
def test_a_kill_hits_before_or_after_the_booking(
    bank: tuple[Bank, list[int]], moment: str, booked: bool
) -> None:
    """Who is killed at a payment gets no answer; whether it was booked depends on the moment."""
    open_bank, kills = bank
    open_bank.plan = {("r", 0): Kill(moment=moment)}
    with contextlib.suppress(Exception):
        pay(open_bank.address, "r", 0)
    assert kills == [1]
    assert was_paid(open_bank.address, "r", 0) is booked


def test_a_key_is_booked_once(bank: tuple[Bank, list[int]]) -> None:
    """A payment that carries a known key is answered and not booked again; the file has one line each."""
    open_bank, _ = bank
    for key in ("a", "a", None, None):
        assert pay(open_bank.address, "r", 1, key) == "r/1"
    assert open_bank.booked[("r", 1)] == 3
    assert open_bank.record.read_text() == "r 1 a\nr 1 -\nr 1 -\n"


def test_every_run_has_a_kill_of_each_moment() -> None:
    """The same seed gives the same kills, on steps that differ."""
    plan, restart = kills_of(random.Random(1), 10, 4)
    assert sorted(kill.moment for kill in plan.values()) == sorted(MOMENTS[:3])
    assert restart is not None
    assert kills_of(random.Random(1), 10, 4) == (plan, restart)


def test_every_system_says_where_its_setup_comes_from() -> None:
    """Each setup names a page and the promise of that page, under a title of its own."""
    setups = [setup for module in systems().values() for setup in module.SETUPS]
    assert len({setup.title for setup in setups}) == len(setups)
    assert all(setup.page and setup.promise for setup in setups)


@pytest.mark.slow
@pytest.mark.process
def test_a_script_that_begins_again_is_found_to_repeat(tmp_path: Path) -> None:
    """What was paid before the kill is paid again, and counted."""
    books = run_once(careless, SETUP, tmp_path)
    assert books.killed == 3
    assert books.repeated > 0


@pytest.mark.slow
@pytest.mark.process
def test_a_script_that_writes_down_first_is_found_to_forget(tmp_path: Path) -> None:
    """A payment that was noted and not made is missing in the end, and nobody was told."""
    books = run_once(careless, Setup(title="t", page="p", promise="p", keys=True), tmp_path)
    assert books.forgotten == 1
    assert books.repeated == 0


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("setup", with_failsoft.SETUPS[:3], ids=lambda setup: setup.title)
def test_failsoft_neither_repeats_nor_forgets(setup: Setup, tmp_path: Path) -> None:
    """Each payment is made once, or told as in doubt and put right by whoever looks."""
    books = run_once(with_failsoft, setup, tmp_path)
    assert (books.repeated, books.forgotten, books.unfinished, books.remarks) == (0, 0, 0, [])
    # A step that was written down and never asked for takes its kill with it.
    assert books.killed >= 2
    assert bool(books.doubts) is not (setup.keys or setup.can_ask)


def test_a_run_that_does_not_end_is_told(tmp_path: Path) -> None:
    """A process that fails by itself is no success: it is counted, with its last words."""
    broken = SimpleNamespace(__name__="no.such.module", beside=careless.beside)
    books = run_once(broken, SETUP, tmp_path, kills=0)
    assert books.unfinished == 1
    assert "no.such" in books.remarks[0] or "ModuleNotFoundError" in books.remarks[0]
