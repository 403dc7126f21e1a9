"""A day's store, and commands that find the modules beside this file."""

import asyncio
import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def a_day(tmp_path_factory):
    """The store's file after one run of the shop, and the doubt that is open in it; only to be read."""
    file = tmp_path_factory.mktemp("day") / "failsoft.db"
    return file, _live_through_a_day(file)


@pytest.fixture
def own_day(tmp_path):
    """The same, to be changed; it lies where commands look by themselves when they run in `tmp_path`."""
    file = tmp_path / ".failsoft" / "failsoft.db"
    return file, _live_through_a_day(file)


@pytest.fixture
def cli(monkeypatch, tmp_path):
    """Run a command in an empty folder: its exit code."""
    from failsoft.cli.app import run

    for name in ("FAILSOFT_STORE", "FAILSOFT_HOME", "FAILSOFT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(HERE))
    before = set(sys.modules)
    yield lambda *arguments: run([str(argument) for argument in arguments])
    for name in {"shop", "desk"} - before:
        sys.modules.pop(name, None)


def _live_through_a_day(file: Path) -> str:
    spec = importlib.util.spec_from_file_location("a_shop", HERE / "shop.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return asyncio.run(module.a_day(f"sqlite:///{file}"))
