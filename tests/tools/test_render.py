"""What the model reads of a result: whatever the tool returned, bounded, and never a failure."""

import dataclasses
import datetime
import enum
import json
import pathlib
import subprocess
import sys
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from failsoft.tools.render import EMPTY, NOTHING, render_value

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def shown(value: Any, **options: Any) -> Any:
    """The content alone."""
    return render_value(value, **options).content


class Color(enum.Enum):
    """A colour."""

    RED = "red"


class Level(enum.IntEnum):
    """A level."""

    HIGH = 3


class Weather(BaseModel):
    """A pydantic model."""

    at: datetime.datetime
    price: Decimal
    secret: SecretStr = SecretStr("hunter2")


@dataclasses.dataclass
class Point:
    """A dataclass with a private part."""

    x: int
    token: str = dataclasses.field(default="secret", repr=False)


class Plain:
    """Says nothing of itself."""

    def __init__(self) -> None:
        self.name = "plain"
        self._password = "secret"


class Speaking:
    """Speaks for itself."""

    def __str__(self) -> str:
        return "I am well"


class Rude:
    """Raises whatever is asked."""

    def __repr__(self) -> str:
        raise ValueError("no")

    __str__ = __repr__


UTC = datetime.UTC
NOON = datetime.datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain text", "plain text"),
        ("", EMPTY),
        ("   ", "(blank result: 3 characters of white space)"),
        (None, NOTHING),
        (True, "true"),
        (3, "3"),
        (10**40, str(10**40)),
        (2.5, "2.5"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, None, "é"]}, '{"a": [1, null, "é"]}'),
        (float("nan"), "nan"),
        ({"x": float("inf")}, '{"x": "inf"}'),
        (Decimal("19.90"), "19.90"),
        ({"amount": Decimal("0.1000")}, '{"amount": "0.1000"}'),
        (NOON, "2026-03-02T09:00:00+00:00"),
        (
            {"d": datetime.date(2026, 3, 2), "t": datetime.timedelta(hours=1)},
            '{"d": "2026-03-02", "t": "1:00:00"}',
        ),
        ({"p": pathlib.PurePosixPath("/x/y")}, '{"p": "/x/y"}'),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({3, 1, 2}, "[1, 2, 3]"),
        ({1, "a"}, '["a", 1]'),
        ((1, (2, 3)), "[1, [2, 3]]"),
        (deque([1, 2]), "[1, 2]"),
        (range(3), "[0, 1, 2]"),
        (namedtuple("Pair", "a b")(1, 2), "[1, 2]"),
        (OrderedDict(b=1), '{"b": 1}'),
        (defaultdict(list, a=[1]), '{"a": [1]}'),
        ({1: "a", None: "b", False: "c"}, '{"1": "a", "null": "b", "false": "c"}'),
        ({NOON: 1, (1, "x"): 2, Color.RED: 3}, '{"2026-03-02T09:00:00+00:00": 1, "1, x": 2, "red": 3}'),
        (Color.RED, "red"),
        ([Color.RED, Level.HIGH], '["red", 3]'),
        (Point(1), '{"x": 1}'),
        (
            Weather(at=NOON, price=Decimal("1.50")),
            '{"at": "2026-03-02T09:00:00Z", "price": "1.50", "secret": "**********"}',
        ),
        (b"text", "text"),
        (b"", EMPTY),
        (bytes.fromhex("d6d0cec4"), "base64:1tDOxA=="),
        ({"stdout": bytes.fromhex("d6d0cec4"), "code": 0}, '{"stdout": "base64:1tDOxA==", "code": 0}'),
        (b"\xff" * 5000, "(5000 bytes of binary data, not shown)"),
        (bytearray(b"x"), "x"),
        (Plain(), '{"name": "plain"}'),
        (SimpleNamespace(a=1), "namespace(a=1)"),
        (object(), "(object)"),
        (Speaking(), "I am well"),
        ([Rude()], '["(Rude, cannot be shown: ValueError)"]'),
        (Rude(), "(Rude, cannot be shown: ValueError)"),
        (ValueError("bad"), "ValueError: bad"),
        ([print, Plain], '["print", "Plain"]'),
        (1 + 2j, "(1+2j)"),
        ("\ud83d\ude00", "😀"),
        ("a\ud800b", "a\ufffdb"),
        ({"a": "\udfff"}, '{"a": "\ufffd"}'),
    ],
    ids=lambda item: repr(type(item).__name__),
)
def test_any_value_becomes_text(value: Any, expected: str) -> None:
    """Every kind of value has one exact, non-empty text that UTF-8 can carry."""
    assert shown(value) == expected
    expected.encode()


def test_cycles_and_depth_are_named() -> None:
    """What contains itself, or is nested beyond reason, is named at the place where it would not end."""
    cycle: dict[str, Any] = {"a": 1}
    cycle["self"] = cycle
    assert shown(cycle) == '{"a": 1, "self": "(dict, contains itself)"}'
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deep" in shown(deep)
    shared = [1]
    assert shown([shared, shared, {4}]) == "[[1], [1], [4]]", "the same thing twice is no cycle"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    )
)
def test_json_values_come_through_whole(value: Any) -> None:
    """What is JSON already is the same JSON afterwards; the rest is text all the same."""
    text = shown(value, max_chars=None)
    assert isinstance(text, str)
    assert text.strip()
    text.encode()
    if isinstance(value, dict | list) and "nan" not in text and "inf" not in text and "\ufffd" not in text:
        assert json.loads(text) == value


def test_a_long_text_is_cut_with_its_full_size() -> None:
    """The limit holds with its notice, and the rest is there to be paged."""
    text = "lorem ipsum " * 500_000
    made = render_value(text, max_chars=20_000)
    assert isinstance(made.content, str)
    assert len(made.content) <= 20_000
    assert made.content.endswith("of 6000000 characters]")
    assert "truncated" in made.content
    head, _, _ = made.content.rpartition("\n[truncated")
    assert made.full == text
    assert text.startswith(head)
    assert made.cut == len(text) - len(head)
    whole = render_value("x" * 10_000)
    assert (whole.cut, whole.full) == (0, None)
    assert len(shown("x" * 10_001)) <= 10_000
    assert render_value(["é" * 50_000]).cut > 0
    assert render_value("x" * 100_000, max_chars=None).cut == 0
    tiny = render_value("x" * 100, max_chars=5)
    assert tiny.cut == 100


FAKES = """
class generic:
    def item(self): return 2.5
class ndarray:
    size = 3
    def tolist(self): return [1, 2, float("nan")]
class DataFrame:
    size = 2
    columns = ["a"]
    def to_dict(self, orient): return [{"a": 1}, {"a": 2}]
class Big:
    size = 10**9
    shape = (10**9,)
class NAType:
    def __repr__(self): return "<NA>"
"""


def test_arrays_and_frames_by_their_verbs() -> None:
    """numpy, pandas and their kin are known by the module of their type and never imported."""
    module: dict[str, Any] = {"__name__": "numpy"}
    exec(FAKES, module)
    assert shown({"x": module["generic"]()}) == '{"x": 2.5}'
    assert shown(module["ndarray"]()) == '[1, 2, "nan"]'
    assert shown(module["DataFrame"]()) == '[{"a": 1}, {"a": 2}]'
    assert "too many to show" in shown(module["Big"]())
    assert shown([module["NAType"]()]) == "[null]"


@pytest.mark.slow
def test_rendering_imports_nothing_big() -> None:
    """Rendering any value leaves numpy, pandas and the SDKs out of the process."""
    code = (
        "import sys; from failsoft.tools.render import render_value; render_value({'a': object()}); "
        "print([name for name in ('numpy', 'pandas', 'anthropic', 'openai', 'mcp', 'PIL') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", ["numpy", "pandas"])
def test_real_arrays_and_frames(kind: str) -> None:
    """Where the library is installed, its own values are shown as data."""
    library = pytest.importorskip(kind)
    if kind == "numpy":
        assert shown(library.float32(1.5)) == "1.5"
        assert shown({"a": library.arange(3), "b": library.int64(7)}) == '{"a": [0, 1, 2], "b": 7}'
        assert shown(library.datetime64("2026-03-02")) == "2026-03-02"
        assert "too many" in shown(library.zeros(300_000))
        return
    frame = library.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert json.loads(shown(frame)) in (
        [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        [{"a": 1, "b": "x"}, {"a": 2, "b": "nan"}],
    )
    assert (
        shown({"t": library.Timestamp("2026-03-02"), "n": library.NaT})
        == '{"t": "2026-03-02T00:00:00", "n": "NaT"}'
    )
