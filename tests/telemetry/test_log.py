"""Events as log lines: one line a step, silent until asked for, and never in the way."""

import logging
import subprocess
import sys

import pytest

from failsoft.core.errors import UsageError
from failsoft.core.events import Event, EventName
from failsoft.telemetry import LogSink, configure_from_env


@pytest.fixture
def logger(request):
    """A logger of the test's own, left as it was found."""
    made = logging.getLogger(f"failsoft_test.{request.node.name}")
    yield made
    made.handlers.clear()
    made.setLevel(logging.NOTSET)
    made.propagate = True


def _event(**data) -> Event:
    return Event(
        name=EventName.ATTEMPT_FAILED, at=1.0, tool="pay", call_id="c1", run_id="r1", attempt=2, data=data
    )


def test_a_step_is_one_line(logger, caplog):
    """An event becomes one line with its name, its ids and its details, at its own level."""
    with caplog.at_level(logging.INFO, logger.name):
        LogSink(logger)(_event(kind="timeout", wait_s=0.51234567, nothing=None))
    (record,) = caplog.records
    assert (
        record.getMessage() == "attempt_failed tool=pay call=c1 run=r1 attempt=2 kind=timeout wait_s=0.512346"
    )
    assert record.levelno == logging.WARNING
    assert record.failsoft.data["kind"] == "timeout"


def test_a_value_cannot_forge_a_line(logger, caplog):
    """Line breaks and control characters in a value are written as escapes, and long values are cut."""
    with caplog.at_level(logging.INFO, logger.name):
        LogSink(logger)(_event(error="a\nERROR call_failed tool=forged\x1b[0m", long="x" * 1000))
    message = caplog.records[0].getMessage()
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 600


def test_a_level_that_nobody_wants_costs_no_text(logger):
    """`wants` follows the logger's level, and an event below it is not even formatted."""
    logger.setLevel(logging.ERROR)
    sink = LogSink(logger.name)
    assert not sink.wants(logging.WARNING)
    assert sink.wants(logging.ERROR)

    class Loud:
        def __str__(self):
            raise AssertionError("formatted")

    sink(_event(x=Loud()))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    sink(_event(x=Loud()))


def test_the_environment_asks_for_lines(monkeypatch, logger, capsys):
    """`FAILSOFT_LOG=info` puts one handler to stderr, however often it is asked; the root logger stays untouched."""
    before = list(logging.getLogger().handlers)
    monkeypatch.setenv("FAILSOFT_LOG", "Info")
    assert configure_from_env(logger.name)
    assert configure_from_env(logger.name)
    LogSink(logger)(_event(kind="timeout"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("attempt_failed") == 1
    assert "WARNING attempt_failed tool=pay" in told.err
    assert logging.getLogger().handlers == before


def test_without_the_variable_nothing_is_changed(monkeypatch, logger):
    """No variable, no handler."""
    monkeypatch.delenv("FAILSOFT_LOG", raising=False)
    assert not configure_from_env(logger.name)
    assert logger.handlers == []


def test_a_wrong_word_is_refused_with_the_right_ones(monkeypatch, logger):
    """A level that does not exist is named together with those that do."""
    monkeypatch.setenv("FAILSOFT_LOG", "loud")
    with pytest.raises(UsageError, match="debug, info, warning, error"):
        configure_from_env(logger.name)


@pytest.mark.process
def test_importing_prints_nothing_and_logs_nowhere():
    """A program that set up no logging sees no lines, not even of errors."""
    code = (
        "from failsoft.telemetry import LogSink; from failsoft.core.events import Event, EventName\n"
        "LogSink()(Event(name=EventName.CALL_FAILED, at=0.0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout + done.stderr == ""
