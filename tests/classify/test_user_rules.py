"""A user's own rules come first, in every shape in which they may be given."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from failsoft.classify import Answer, Classifier, Rule
from failsoft.core.errors import AgentError, Conflict, UsageError


class _Shop(Exception):
    """A type of the user's."""


class _Sold(_Shop):
    """A subclass of it."""


def test_by_type_and_subclass() -> None:
    """A rule by type also meets the subclasses."""
    classifier = Classifier()
    classifier.rule(type=_Shop, kind="conflict", reason="sold_out")
    error = classifier.classify(_Sold("the last one is gone"))
    assert (error.kind, error.reason, error.message) == ("conflict", "sold_out", "the last one is gone")


@pytest.mark.parametrize("name", ["_Sold", "_Shop", f"{__name__}._Shop", f"{__name__.split('.')[0]}._Sold"])
def test_by_name(name: str) -> None:
    """A rule by name meets the class and its bases, in full, shortened, or alone."""
    classifier = Classifier()
    classifier.rule(name=name, kind="not_found")
    assert classifier.classify(_Sold("x")).kind == "not_found"


def test_before_the_table() -> None:
    """A user's rule wins over the built-in one, and other types are untouched."""
    classifier = Classifier()
    classifier.rule(type=TimeoutError, kind="unavailable", retryable=False, effect="none", owner="human")
    error = classifier.classify(TimeoutError())
    assert (error.kind, error.retryable, error.effect, error.owner) == ("unavailable", False, "none", "human")
    assert classifier.classify(ConnectionRefusedError()).kind == "network"


def test_by_message_and_predicate() -> None:
    """Every condition that is given must hold."""
    classifier = Classifier()
    classifier.rule(type=ValueError, message="no stock", when=lambda exc: len(exc.args) == 2, kind="conflict")
    assert classifier.classify(ValueError("No stock", 1)).kind == "conflict"
    assert classifier.classify(ValueError("no stock")).kind == "internal"
    assert classifier.classify(ValueError("other", 1)).kind == "internal"


def test_by_status_on_exceptions_and_answers() -> None:
    """A rule by status meets answers, and exceptions that carry one."""
    classifier = Classifier()
    classifier.rule(status=(418, 420), kind="rate_limited", retry_after_s=5)
    exc = _Shop("x")
    exc.status_code = 420  # type: ignore[attr-defined]
    assert classifier.classify(exc).retry_after_s == 5
    error = classifier.classify_response(418, {}, None)
    assert error is not None
    assert error.kind == "rate_limited"


def test_rule_makes_an_error_of_a_good_answer() -> None:
    """A rule may find an error behind a status of 200."""
    classifier = Classifier()
    classifier.rule(status=200, when=lambda answer: "sorry" in str(answer.body), kind="not_found")
    assert classifier.classify_response(200, {}, "sorry, nothing here") is not None
    assert classifier.classify_response(200, {}, "here you are") is None


def test_as_decorator() -> None:
    """A decorated function makes the error, names a kind, or passes."""
    classifier = Classifier()

    @classifier.rule(type=_Shop)
    def judge(exc: _Shop) -> AgentError | str | None:
        return {"a": Conflict("taken", reason="taken"), "b": "not_found"}.get(str(exc))

    assert classifier.classify(_Shop("a")).reason == "taken"
    assert classifier.classify(_Shop("b")).kind == "not_found"
    assert classifier.classify(_Shop("c")).kind == "unknown"
    assert judge(_Shop("b")) == "not_found"


def test_inside_a_chain() -> None:
    """A rule also meets an exception that is a cause."""
    classifier = Classifier()
    classifier.rule(type=_Shop, kind="conflict")
    outer = RuntimeError("order failed")
    outer.__cause__ = _Shop("gone")
    error = classifier.classify(outer)
    assert (error.kind, error.message) == ("conflict", "order failed: gone")


def test_rule_that_fails_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """A predicate that raises is logged and passed over."""
    classifier = Classifier()
    classifier.rule(type=ValueError, when=lambda exc: exc.nothing, kind="conflict")
    with caplog.at_level(logging.WARNING, logger="failsoft.classify"):
        assert classifier.classify(ValueError("x")).kind == "internal"
    assert "was skipped" in caplog.text


def test_own_kind() -> None:
    """Kinds are an open set."""
    classifier = Classifier([Rule(type=(_Shop,), kind="out_of_stock")])
    error = classifier.classify(_Sold("x"))
    assert (error.kind, error.retryable) == ("out_of_stock", False)


def test_needs_a_condition() -> None:
    """A rule for everything is refused, with a hint."""
    with pytest.raises(UsageError, match="hint:"):
        Classifier().rule(kind="conflict")


def test_answer_is_public() -> None:
    """What a predicate of a response gets is an `Answer` with status, headers, body and method."""
    seen: list[Any] = []
    classifier = Classifier()
    classifier.rule(status=500, when=lambda answer: bool(seen.append(answer)), kind="conflict")
    classifier.classify_response(500, {"X-A": "1"}, "{}", method="post")
    assert isinstance(seen[0], Answer)
    assert (seen[0].headers, seen[0].body, seen[0].method) == ({"x-a": "1"}, {}, "POST")


def test_many_threads() -> None:
    """Rules are added and asked from several threads at once."""
    classifier = Classifier()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(50):
                classifier.rule(message=f"word {number} {step}", kind="conflict")
                assert classifier.classify(RuntimeError(f"word {number} {step}")).kind == "conflict"
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(classifier.rules) == 200
