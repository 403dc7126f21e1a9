"""One event to many sinks: cleaned once, and nothing that a sink does reaches the call."""

import logging
import threading

import pytest

from failsoft.core.events import Event, EventName
from failsoft.feedback import Redactor
from failsoft.telemetry import Fanout, LogSink, QueueSink


def _event(name: EventName = EventName.CALL_FAILED, **data) -> Event:
    return Event(name=name, at=1.0, data=data)


class Counting(Redactor):
    """A redactor that counts what it cleans."""

    def __init__(self) -> None:
        super().__init__()
        self.events = 0

    def event(self, event):
        self.events += 1
        return super().event(event)


def test_an_event_is_cleaned_once_for_all_sinks():
    """Every sink gets the same clean record."""
    one, two, redactor = [], [], Counting()
    Fanout([one.append, two.append], redactor).emit(_event(error="password=hunter2"))
    assert redactor.events == 1
    assert one == two
    assert one[0].data == {"error": "password=[secret]"}


def test_a_broken_sink_is_logged_once_and_stops_nobody(caplog):
    """What a sink raises is logged once, without its text, and the other sinks go on."""
    seen = []

    def broken(event):
        raise RuntimeError("password=hunter2")

    fanout = Fanout([broken, seen.append])
    for _ in range(3):
        fanout.emit(_event())
    assert len(seen) == 3
    assert caplog.text.count("RuntimeError") == 1
    assert "hunter2" not in caplog.text


def test_an_event_that_cannot_be_cleaned_is_shown_to_nobody(caplog):
    """A redactor that fails must not let anything through."""
    seen = []

    class Broken:
        def event(self, event):
            raise ValueError("x")

    Fanout([seen.append], Broken()).emit(_event())
    assert seen == []
    assert "ValueError" in caplog.text


def test_nothing_is_wanted_when_no_sink_wants_it():
    """`wants` lets the caller skip making events; a sink that does not say takes all."""
    logger = logging.getLogger("failsoft_test.fanout")
    logger.setLevel(logging.ERROR)
    quiet = LogSink(logger)
    assert not Fanout().wants(logging.ERROR)
    assert not Fanout([quiet]).wants(logging.INFO)
    assert Fanout([quiet]).wants(logging.ERROR)
    assert Fanout([quiet, [].append]).wants(logging.INFO)


def test_a_sink_gets_only_what_it_wants():
    """A sink that wants errors is not called for less, also when another one wants all."""

    class Errors(list):
        def wants(self, level):
            return level >= logging.ERROR

        def __call__(self, event):
            self.append(event)

    errors, every = Errors(), []
    fanout = Fanout([errors, every.append])
    fanout.emit(_event(EventName.CALL_FINISHED))
    fanout.emit(_event(EventName.CALL_FAILED))
    assert [event.name for event in errors] == ["call_failed"]
    assert len(every) == 2


@pytest.mark.slow
def test_a_slow_sink_behind_a_queue_does_not_hold_up_the_caller():
    """The caller goes on while the sink is stuck; what does not fit is dropped and counted; the rest is handed over."""
    gate, seen = threading.Event(), []

    def stuck(event):
        gate.wait(10)
        seen.append(event)

    sink = QueueSink(stuck, max_events=5)
    for _ in range(20):
        sink(_event())
    assert seen == []
    gate.set()
    assert sink.close()
    assert len(seen) + sink.dropped == 20
    assert 5 <= len(seen) <= 6
    sink(_event())
    assert len(seen) + sink.dropped == 21


@pytest.mark.slow
def test_a_queue_outlives_what_its_sink_raises(caplog):
    """A sink that raises in its thread is logged once and gets the next event."""
    seen = []

    def moody(event):
        seen.append(event)
        raise OSError("disk full")

    sink = QueueSink(moody)
    sink(_event())
    sink(_event())
    assert sink.close()
    assert len(seen) == 2
    assert caplog.text.count("OSError") == 1


def test_a_queue_that_was_never_used_closes_at_once():
    """No event, no thread."""
    assert QueueSink([].append).close()
