"""What every test gets; keep it small, rooms have their own."""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A contributor's own policy file says nothing about the tests.
os.environ["FAILSOFT_CONFIG"] = "none"

# A slow machine is no bug in the code under test; the time limit of each test still holds.
settings.register_profile("failsoft", deadline=None, print_blob=True)
settings.load_profile("failsoft")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that share a machine-wide thing together, so that they run one after another."""
    for item in items:
        for name in ("server", "process"):
            if item.get_closest_marker(name) and not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(name))
                break


@pytest.fixture(autouse=True)
def _logger_as_it_was() -> Iterator[None]:
    """A test that silences the project's logger does so for itself only."""
    logger = logging.getLogger("failsoft")
    level, disabled, handlers = logger.level, logger.disabled, list(logger.handlers)
    yield
    logger.setLevel(level)
    logger.disabled = disabled
    logger.handlers[:] = handlers
