"""What crosses the pipe arrives as it was."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.core.errors import AgentError, InvalidOutput, NotFound, RateLimited
from failsoft.isolation import _frames as frames
from failsoft.isolation._codec import Codec, read_result, write_result
from failsoft.isolation._failures import pack, unpack
from failsoft.isolation._job import death
from tests.isolation import bodies

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(st.tuples(st.sampled_from([b"j", b"P", b"E"]), st.binary(max_size=300))), st.integers(1, 50))
def test_frames_survive_any_cut(answers, size):
    """Frames come out whole and in order, however the stream is cut."""
    stream = b"".join(frames.answer(tag, body) for tag, body in answers)
    buffer, seen = bytearray(), []
    for i in range(0, len(stream), size):
        buffer += stream[i : i + size]
        seen += [(frame[:1], frame[2:]) for frame in frames.split(buffer)]
    assert seen == answers
    assert not buffer


@given(JSON | st.binary())
def test_results_are_exact(value):
    """Whatever JSON holds, text of any kind and bytes come back equal."""
    tag, text = write_result(value, None)
    assert read_result(tag, text, None) == value


@given(JSON)
def test_arguments_are_exact(value):
    """Arguments without a type come back equal."""
    codec = Codec(bodies.echo)
    assert codec.read(codec.write({"value": value})) == {"value": value}


def test_not_a_number_survives():
    """Not-a-number is told from null."""
    assert math.isnan(read_result(*write_result(float("nan"), None), None))


def test_value_that_breaks_its_annotation():
    """A body that returns other than it says: the value comes as plain JSON."""
    returns = Codec(bodies.weather).returns
    assert read_result(*write_result({"no": "weather"}, returns), returns) == {"no": "weather"}
    with pytest.raises(InvalidOutput):
        write_result(object(), None)


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc
    except BaseException as caught:
        return unpack(pack(caught))


class _Response:
    status_code, headers, text = 503, {"Retry-After": "7"}, "busy"


class Foreign(RuntimeError):
    """An exception of a module that the other side does not have."""

    def __init__(self, message: str, response: object) -> None:
        super().__init__(message)
        self.response, self.status_code = response, 503


def test_exceptions_of_unknown_modules_keep_their_names():
    """A class that is not loaded here gets a stand-in of the same names, with status and headers."""
    Foreign.__module__ = "no_such_client.errors"
    back = raised(Foreign("busy", _Response()))
    assert [(cls.__module__, cls.__name__) for cls in type(back).__mro__[:2]] == [
        ("no_such_client.errors", "Foreign"),
        ("builtins", "RuntimeError"),
    ]
    assert (str(back), back.status_code, back.response.headers) == ("busy", 503, {"Retry-After": "7"})
    assert type(raised(Foreign("again", None))) is type(back)


@given(st.sampled_from([NotFound, RateLimited]), st.text(), st.text(min_size=1))
def test_agent_errors_are_the_same(cls, message, reason):
    """An `AgentError` comes back of its class with all its fields."""
    error = cls(message, reason=reason, context={"a": 1})
    back = raised(error)
    assert type(back) is cls
    assert back.fields() == error.fields()


def test_odd_exceptions():
    """Deep causes, objects as arguments, own kinds, exits and groups arrive as something that can be raised."""
    deep: BaseException = ValueError("0")
    for i in range(50):
        outer = ValueError(str(i))
        outer.__cause__ = deep
        deep = outer
    assert str(raised(deep)) == "49"
    assert "object" in str(raised(ValueError(object())))
    assert raised(AgentError("my_kind", "x")).kind == "my_kind"
    assert isinstance(raised(SystemExit(3)), Exception)
    assert isinstance(raised(asyncio.CancelledError()), asyncio.CancelledError)
    assert isinstance(raised(BaseExceptionGroup("g", [KeyboardInterrupt()])), Exception)


@pytest.mark.parametrize(
    ("status", "reason", "context"),
    [
        (9, "worker_died", {"signal": "SIGKILL"}),
        (24, "cpu_limit", {"signal": "SIGXCPU"}),
        (3 << 8, "worker_died", {"exit_code": 3}),
        (40, "worker_died", {"signal": "signal 40"}),
    ],
)
def test_deaths_are_named(status, reason, context):
    """The signal or exit code that ended a worker is in the error."""
    error = death(status)
    assert (error.kind, error.reason, error.context) == ("internal", reason, context)
