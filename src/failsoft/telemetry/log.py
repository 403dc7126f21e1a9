"""Events to the standard library's logging: one line a step, below one logger that is silent until somebody asks.

No handler is put anywhere on import, and the root logger is never touched.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from failsoft.core.events import Event

__all__ = ["LogSink", "configure_from_env"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_MAX_VALUE_CHARS = 300

# A library's logger must not print by itself (logging HOWTO, "Configuring Logging for a Library").
logging.getLogger("failsoft").addHandler(logging.NullHandler())


class LogSink:
    """Writes each event as one line to a logger.

    Args:
        logger: The logger, or its name.
    """

    __slots__ = ("_logger", "wants")

    def __init__(self, logger: str | logging.Logger = "failsoft") -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self.wants = self._logger.isEnabledFor
        """Whether an event of this level would be written; cheap, to be asked before an event is made."""

    def __call__(self, event: Event) -> None:
        """Write one event, if its level is wanted. The text is made only when a handler takes it."""
        if self._logger.isEnabledFor(event.level):
            self._logger.log(event.level, "%s", _Line(event), extra={"failsoft": event})

    def __repr__(self) -> str:
        return f"LogSink({self._logger.name!r})"


class _Line:
    """An event that becomes its line when it is formatted, and not before."""

    __slots__ = ("_event",)

    def __init__(self, event: Event) -> None:
        self._event = event

    def __str__(self) -> str:
        event = self._event
        parts = [str(event.name)]
        for key in ("tool", "call_id", "run_id"):
            value = getattr(event, key)
            if value is not None:
                parts.append(f"{key.removesuffix('_id')}={_one_line(value)}")
        if event.attempt:
            parts.append(f"attempt={event.attempt}")
        parts += _pairs(event.data)
        return " ".join(parts)


def _pairs(data: Mapping[str, Any]) -> list[str]:
    return [f"{_one_line(key)}={_one_line(value)}" for key, value in data.items() if value is not None]


def _one_line(value: Any) -> str:
    """A value that cannot break its line or forge another one."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if len(text) > _MAX_VALUE_CHARS:
        text = f"{text[:_MAX_VALUE_CHARS]}…"
    return text if text.isprintable() and " " not in text and text else repr(text)


def configure_from_env(logger: str = "failsoft", variable: str = "FAILSOFT_LOG") -> bool:
    """Print log lines to stderr when the environment asks for it.

    `FAILSOFT_LOG` is `debug`, `info`, `warning` or `error`; empty or not set: nothing is changed.
    Asking twice adds no second handler.

    Returns:
        Whether a handler is there now.

    Raises:
        UsageError: If the variable holds another word.
    """
    word = os.environ.get(variable, "").strip().lower()
    if not word:
        return False
    if word not in _LEVELS:
        raise UsageError(f"{variable} must be one of {', '.join(_LEVELS)}, got {word!r}")
    target = logging.getLogger(logger)
    target.setLevel(_LEVELS[word])
    if not any(isinstance(handler, _StderrHandler) for handler in target.handlers):
        handler = _StderrHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        target.addHandler(handler)
        # Otherwise a root handler would print each line a second time.
        target.propagate = False
    return True


class _StderrHandler(logging.StreamHandler[Any]):
    """Writes to what `sys.stderr` is at that moment, so that a redirection is obeyed."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        """Ignored: the stream is always the present stderr."""
