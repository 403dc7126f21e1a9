"""Hearing of the store's troubles: what it cannot write behind the calls' backs becomes an event, and so a line of the log."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from failsoft.core.events import EventName
from failsoft.stores.engine import EngineStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from failsoft.harness.shared import Shared
    from failsoft.stores.connection import Trouble

__all__ = ["hear_of", "is_shared"]


def hear_of(shared: Shared) -> Callable[[], None]:
    """Have every trouble of the harness's store told to its sinks.

    Returns:
        Ends it. A store that is shared lives longer than a harness.
    """
    troubles = shared.store.troubles if isinstance(shared.store, EngineStore) else None
    if troubles is None:
        return lambda: None
    ref = weakref.ref(shared)

    def told(trouble: Trouble) -> None:
        heard = ref()
        if heard is not None:
            name = EventName.STORE_RECOVERED if trouble.is_over else EventName.STORE_TROUBLE
            error = None if trouble.error is None else str(trouble.error)
            heard.tell_store(name, what=trouble.what, count=trouble.count, error=error)

    stop = troubles.listen(told)
    weakref.finalize(shared, stop).atexit = False
    return stop


def is_shared(shared: Shared) -> bool:
    """Whether another harness uses the same store: the last one closes it."""
    troubles = shared.store.troubles if isinstance(shared.store, EngineStore) else None
    return troubles is not None and troubles.listeners > 1
