"""What a harness shows of itself: its tools, how it tells errors, its time, and what happens in a run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from failsoft.harness.listening import Listeners

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.classify import Classifier
    from failsoft.core.clock import Clock
    from failsoft.core.events import Sink
    from failsoft.feedback import Feedback
    from failsoft.harness.shared import Shared
    from failsoft.ledger.port import LedgerStore
    from failsoft.tools import Tool

__all__ = ["Looking"]

_making = threading.Lock()


class Looking:
    """The part of `Harness` that changes nothing."""

    _shared: Shared
    listeners: Listeners | None = None

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools, built-in ones included."""
        return tuple(self._shared.registry)

    @property
    def feedback(self) -> Feedback:
        """How errors are told to the model."""
        return self._shared.feedback

    @property
    def clock(self) -> Clock:
        """What tells the time here."""
        return self._shared.clock

    @property
    def classifier(self) -> Classifier:
        """What turns exceptions into errors here."""
        return self._shared.classifier

    @property
    def store(self) -> LedgerStore:
        """Where ledger, doubts and cut outputs are."""
        return self._shared.store

    def listen(self, run_id: str, sink: Sink) -> Callable[[], None]:
        """Hear every event of one run's calls as it happens, plain successes included; free of secrets.

        The events are told in the thread that they happen in; what the sink raises is logged once.

        Args:
            run_id: The run; it need not be open yet. Calls without a run are heard by nobody.
            sink: Takes the events. May not block.

        Returns:
            Ends the listening; safe to call twice.
        """
        with _making:
            if self.listeners is None:
                self.listeners = Listeners(self._shared)
        return self.listeners.add(run_id, sink)
