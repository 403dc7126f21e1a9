"""A case file that the environment names, case by case; the repository holds none."""

import json
import os
from pathlib import Path

import pytest

from tests.cases.runner import run_case

_FILE = os.environ.get("FAILSOFT_CASES", "")
_CASES = [json.loads(line) for line in Path(_FILE).read_text("utf-8").splitlines() if line] if _FILE else []

pytestmark = [pytest.mark.slow, pytest.mark.process]


@pytest.mark.skipif(not _CASES, reason="FAILSOFT_CASES names no case file")
@pytest.mark.parametrize("case", _CASES, ids=[case["id"] for case in _CASES])
@pytest.mark.filterwarnings("ignore")
def test_a_case_of_the_file_holds(case):
    """What the case expects is what the runtime does."""
    ok, detail = run_case(case)
    if ok is None:
        pytest.skip(detail)
    assert ok, detail
