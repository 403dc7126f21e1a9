"""The reference pages of the policies say what the code says, and their examples run."""

import re
from pathlib import Path

import pytest

from docs.tools.policy_pages import FOLDER, written
from failsoft import policies

PAGES = sorted(FOLDER.glob("*.md"))
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_are_made_from_the_code(page: Path) -> None:
    """Every table of options and defaults is the one that the code gives; `docs/tools/policy_pages.py` writes them."""
    text = page.read_text(encoding="utf-8")
    assert written(text) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path) -> None:
    """Every block of Python on the pages runs as it stands, with the names of the room."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        exec(compile(block, page.name, "exec"), {name: getattr(policies, name) for name in policies.__all__})


def test_every_option_record_has_a_page() -> None:
    """No option record is left out of the reference."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in (
        "Timeout",
        "Retry",
        "RetryBudget",
        "Breaker",
        "Bulkhead",
        "Rate",
        "Fallback",
        "Isolation",
        "Output",
    ):
        assert f"<!-- options: {name} -->" in text
