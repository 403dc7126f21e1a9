"""Whether a worker can find a body."""

from __future__ import annotations

import functools
import sys
import types

import pytest

from failsoft.core.context import CallContext
from failsoft.core.errors import UsageError
from failsoft.isolation._codec import Codec
from failsoft.isolation.importable import Address, check_importable, find
from tests.isolation import bodies


class Toolish:
    """Looks like what `@tool` makes."""

    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn = fn

    def method(self):
        """A method."""


def tooled() -> int:
    """A body behind a decorator."""
    return 1


plain_tooled = tooled
tooled = Toolish(tooled)  # type: ignore[assignment]


def test_functions_of_modules_are_found():
    """A function at the top of a module has an address that leads back to it."""
    address = check_importable(bodies.add)
    assert address == Address(module="tests.isolation.bodies", qualname="add")
    assert find(address) is bodies.add


def test_behind_a_decorator(monkeypatch):
    """The name may lead to a tool made from the body, and the body may come wrapped; what is run is the plain function."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or types.ModuleType(__name__))
    monkeypatch.setattr(sys.modules[__name__], "tooled", tooled, raising=False)
    for fn in (tooled, plain_tooled, functools.wraps(plain_tooled)(lambda: plain_tooled())):
        assert find(check_importable(fn)) is plain_tooled


def _nested():
    def inner():
        return 1

    return inner


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (bodies.outer, "lambda"),
        (_nested(), "inside another function"),
        (functools.partial(bodies.add, 1), "an object"),
        (Toolish(bodies.add).method, "something else"),
        (types.FunctionType(bodies.add.__code__, {}, "add"), "something else|an object"),
    ],
    ids=["lambda", "nested", "partial", "method", "shadowed"],
)
def test_others_are_refused_with_the_reason(fn, why):
    """What another process cannot import is refused, with the reason and what to do."""
    with pytest.raises(UsageError, match=why) as refused:
        check_importable(fn)
    assert "hint:" in str(refused.value)


@pytest.mark.parametrize(
    ("source", "right"), [('if __name__ == "__main__":\n    pass\n', True), ("print(1)\n", False)]
)
def test_scripts_need_a_guard(tmp_path, monkeypatch, source, right):
    """A body of the main script is run by running the script again, so the script must have its guard."""
    path = tmp_path / "script.py"
    path.write_text("def body():\n    return 7\n" + source)
    main = types.ModuleType("__main__")
    main.__file__, main.__spec__ = str(path), None
    exec(compile(path.read_text(), str(path), "exec"), main.__dict__)  # what Python does with a script
    monkeypatch.setitem(sys.modules, "__main__", main)
    if right:
        address = check_importable(main.body)
        assert (address.script, find(address)()) == (str(path), 7)
    else:
        with pytest.raises(UsageError, match="__main__"):
            check_importable(main.body)
    del main.__file__
    with pytest.raises(UsageError, match="interactive"):
        check_importable(main.body)


class NotJson:
    """A type that pydantic does not know."""


def takes_anything(value: NotJson) -> None:
    """A body that cannot be called from outside."""


def test_types_that_cannot_cross_are_refused_by_name():
    """A parameter whose type cannot be written as JSON is named when the harness is built."""
    with pytest.raises(UsageError, match="'value'"):
        Codec(takes_anything)


def test_the_context_does_not_cross():
    """A parameter for the call's context is left out of what is written."""
    codec = Codec(bodies.context)
    assert codec.context_names == ("ctx",)
    assert codec.read(codec.write({"a": 1, "ctx": CallContext("t", {})})) == {"a": 1}
