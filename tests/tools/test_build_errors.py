"""What cannot work is refused when a tool is built, in words that say what to do."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, RootModel

from failsoft.core.context import CallContext
from failsoft.core.errors import UsageError
from failsoft.tools import Registry, Tool, tool


def act(n: int = 0) -> None:
    """Act."""


class Model(BaseModel):
    """A model."""

    n: int


WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"read_only": True, "destructive": True}, "contradict"),
    ({"category": "query", "destructive": True}, "category 'query'"),
    ({"read_only": True, "idempotent": False}, "contradict"),
    ({"read_only": "yes"}, "True or False"),
    ({"atomic": None}, "atomic"),
    ({"identity": ["x"]}, "parameters: n"),
    ({"identity": [3]}, "identity"),
    ({"idempotency_key": "key"}, "parameters: n"),
    ({"approval": "sometimes"}, "predicate"),
    ({"isolation": "fiber"}, "inline, task, thread, process"),
    ({"verify": "soon"}, "function"),
    ({"verify_after_s": 3}, "without verify"),
    ({"error_from_result": 1}, "function"),
    ({"doubts": "nobody"}, "'model' or 'human'"),
    ({"timeout_s": 0}, "positive"),
    ({"timeout_s": float("nan")}, "positive"),
    ({"timeout_s": True}, "positive"),
    ({"key_ttl_s": -1}, "positive"),
    ({"timeout_s": 1, "timeout": 2}, "twice"),
    ({"timeout": None}, "timeout"),
    ({"retry": "often"}, "Retry.max_attempts"),
    ({"name": ""}, "name="),
    ({"name": " x"}, "name="),
    ({"name": "a\nb"}, "name="),
    ({"name": 3}, "name="),
    ({"readonly": True}, "did you mean 'read_only'"),
    ({"roles": [1]}, "roles"),
    ({"returns": act}, "JSON Schema"),
    ({"version": 2}, "version"),
]


@pytest.mark.parametrize(
    ("options", "words"),
    WRONG_OPTIONS,
    ids=[f"{i}-{next(iter(item[0]))}" for i, item in enumerate(WRONG_OPTIONS)],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    """Each wrong option is named, with a hint."""
    with pytest.raises(UsageError) as refusal:
        tool(act, **options)
    assert words in str(refusal.value)
    assert "hint: " in str(refusal.value) or "timeout" in options or "retry" in options


def test_policy_errors_name_the_tool() -> None:
    """A policy that cannot work is refused with the name of the tool it was given to."""
    with pytest.raises(UsageError, match="tool 'act'"):
        tool(act, retry="often")  # type: ignore[call-overload]


def star(*numbers: int) -> None: ...
def keywords(**rest: int) -> None: ...
def positional(n: int, /) -> None: ...
def private(_n: int) -> None: ...
def taken(model_config: str) -> None: ...
def lock(n: int, guard: threading.Lock) -> None: ...
def broken(n: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def no_type(n: "1 +") -> None: ...  # type: ignore[valid-type]  # noqa: F722
def key_is_context(ctx: CallContext) -> None: ...
def two_contexts(ctx: CallContext, other: CallContext) -> None: ...


@pytest.mark.parametrize(
    ("fn", "options", "words"),
    [
        (star, {}, r"\*numbers"),
        (keywords, {}, r"\*\*kwargs"),
        (positional, {}, "by name"),
        (private, {}, "'_n'"),
        (taken, {}, "'model_config'"),
        (lock, {}, "'guard'"),
        (broken, {}, "'Missing'"),
        (no_type, {}, "no type"),
        (key_is_context, {"idempotency_key": "ctx"}, "CallContext"),
        (two_contexts, {}, "keep one"),
        (lambda: None, {}, "name="),
        (functools.partial(lambda: None), {}, "name="),
        (max, {"name": "max"}, "tell its parameters|by name"),
        (3, {}, "takes a function"),
        (classmethod(act), {}, "bound one"),
        (tool(act), {}, "tool already"),
    ],
)
def test_functions_that_are_no_tools(fn: Any, options: dict[str, Any], words: str) -> None:
    """What no model could call is refused, with the parameter that is to blame."""
    with pytest.raises(UsageError, match=words) as refusal:
        tool(fn, **options)
    assert "hint: " in str(refusal.value)


def other(m: int) -> None: ...
def unfilled(n: int, extra: str) -> None: ...
def shows_key(n: int, key: str) -> None: ...


class WithKey(BaseModel):
    """A model that shows the key."""

    n: int
    key: str


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tool.from_model(dict, act), "pydantic model"),  # type: ignore[arg-type]
        (lambda: Tool.from_model(RootModel[int], act), "pydantic model"),
        (lambda: Tool.from_model(Model, other), "no parameter 'n'"),
        (lambda: Tool.from_model(Model, unfilled), "'extra'"),
        (lambda: Tool.from_model(WithKey, shows_key, idempotency_key="key"), "field of WithKey"),
        (lambda: Tool.from_schema("x", [], act), "dict"),  # type: ignore[arg-type]
        (lambda: Tool.from_schema("x", {"type": "array"}, act), "object"),
        (lambda: Tool.from_schema("x", {"properties": {"m": {}}}, act), "no parameter 'm'"),
        (lambda: Tool.from_schema("x", {"properties": {"m": {"type": "strang"}}}, lambda **k: k), "tool 'x'"),
        (lambda: Tool.from_schema("x", {}, other), "'m'"),
    ],
)
def test_foreign_tools_that_do_not_fit(make: Callable[[], object], words: str) -> None:
    """Schema and function have to fit, and that is known at build time."""
    with pytest.raises(UsageError, match=words):
        make()


def test_two_tools_of_one_name() -> None:
    """Both are named with where they come from, and what to do."""

    def again() -> None: ...

    with pytest.raises(UsageError, match=r"'act'.*test_build_errors\.act.*again.*\n\nhint"):
        Registry([act, tool(again, name="act")])


@pytest.mark.parametrize("item", [3, "act", Model, None])
def test_a_registry_of_something_else(item: object) -> None:
    """What is no tool is refused at once."""
    with pytest.raises(UsageError, match="wanted tools"):
        Registry([item])  # type: ignore[list-item]


@pytest.mark.parametrize("options", [{"timeout_s": -1}, {"read_only": "yes"}, {"retri": 2}, {"fallback": 3}])
def test_an_error_names_the_function_where_there_is_no_name(options: dict[str, Any]) -> None:
    """The decorator knows what it decorates."""
    with pytest.raises(UsageError, match="tool 'act'"):
        tool(act, **options)
    with pytest.raises(UsageError, match="tool 'act'"):
        tool(**options)(act)
