"""What a fork must not take along: connections, and threads that the child does not have.

A child that inherits an open SQLite connection inherits the library's belief that the process holds its locks, which
only the parent does. Whatever the child opens on that file later shares this belief, and another process deletes the
WAL file under it (https://sqlite.org/howtocorrupt.html, section 2.6). A server's connection would be used by two
processes at once. So everything is let go of before a fork, and both sides open it again when they need it.
"""

from __future__ import annotations

import logging
import os
import weakref
from typing import Protocol

__all__ = ["Forkable", "keep_safe"]

_log = logging.getLogger("failsoft.stores")


class Forkable(Protocol):
    """Something that holds connections, locks or threads."""

    def before_fork(self) -> None:
        """Let go of what cannot be shared, and let nobody take it again."""
        ...

    def after_fork(self, *, is_child: bool) -> None:
        """Go on; in the child from the beginning."""
        ...


_known: weakref.WeakSet[Forkable] = weakref.WeakSet()
_forking: list[Forkable] = []


def keep_safe(thing: Forkable) -> None:
    """Have `thing` told of every fork, for as long as it lives."""
    _known.add(thing)


def _before() -> None:
    for thing in _all_known():
        try:
            thing.before_fork()
        except Exception:
            _log.exception("%r could not prepare for a fork", thing)
        _forking.append(thing)


def _all_known() -> list[Forkable]:
    while True:
        try:
            return list(_known)
        except RuntimeError:  # another thread made one meanwhile
            continue


def _after(*, is_child: bool) -> None:
    while _forking:
        _forking.pop().after_fork(is_child=is_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(is_child=False),
        after_in_child=lambda: _after(is_child=True),
    )
