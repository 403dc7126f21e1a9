"""The hand-written reference pages name everything that there is, and the code of the how-to for tests is a test."""

import asyncio
import dataclasses
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from failsoft import Harness, ToolCall
from failsoft.core.calls import Attempt
from failsoft.core.results import ToolResult
from failsoft.harness.options import CallOptions
from failsoft.testing import clients, clock, store_suite

DOCS = Path(__file__).parents[2] / "docs"


def public(cls):
    """The public names of a class."""
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("harness", {*inspect.signature(Harness).parameters, *CallOptions.__annotations__}),
        ("harness", public(Harness) - {"listeners"}),
        ("calls", public(ToolResult)),
        ("calls", {field.name for cls in (ToolCall, Attempt) for field in dataclasses.fields(cls)}),
        ("testing", {*clients.__all__, *clock.__all__, *store_suite.__all__} - {"StoreCheck"}),
    ],
)
def test_a_page_names_all_there_is(page, names):
    """Whoever adds a public name adds it to its page."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    assert not names - told


def _tests_of_the_page():
    page = (DOCS / "how-to" / "test-tools-with-pytest.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_loader("page", loader=None)
    module = importlib.util.module_from_spec(spec)
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, "test-tools-with-pytest.md", "exec"), module.__dict__)
    return {name: value for name, value in vars(module).items() if name.startswith("test_")}


@pytest.mark.parametrize("name", _tests_of_the_page())
def test_the_tests_of_the_page_pass(name):
    """Each of them as it is printed; none needs a loop that runs already."""
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    _tests_of_the_page()[name]()
