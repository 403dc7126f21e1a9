"""The error pages are made from the code."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _script():
    spec = importlib.util.spec_from_file_location("error_pages", ROOT / "docs" / "tools" / "error_pages.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_says_what_the_code_says():
    """`docs/tools/error_pages.py` was run after the last change of a sentence."""
    script = _script()
    stale = [
        name for name, text in script.pages().items() if (script.FOLDER / name).read_text("utf-8") != text
    ]
    assert stale == [], "run: ./run py docs/tools/error_pages.py"


def test_there_is_no_page_too_many():
    """A page of a kind that is gone is gone too."""
    script = _script()
    assert {path.name for path in script.FOLDER.iterdir()} == set(script.pages())
