"""The conversation so far, neutral, and its exact wire shapes in any dialect.

Append-only but for one thing: when error text outgrows its bound, repeated errors are cut to one line.
Rendering is incremental: a turn costs what is new in it, and the early messages stay the same objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from failsoft.agent import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from failsoft.core.calls import ToolCall
    from failsoft.core.results import Content, ToolResult
    from failsoft.core.turns import ModelTurn

__all__ = ["Answered", "Given", "Reply", "Said", "Transcript", "Turned"]

_ONE_LINE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model reads of one result.

    Args:
        call: The call that it answers.
        content: Text, or content blocks.
        ok: Whether it is a success.
        gist: Kind and reason of a failure, to tell repeated errors.
    """

    call: ToolCall
    content: Content
    ok: bool = True
    gist: str = ""

    @classmethod
    def of(cls, result: ToolResult, call: ToolCall) -> Reply:
        """The reply that a result makes to a call, under the call's own id."""
        error = result.error
        gist = f"{error.kind}/{error.reason}" if error is not None else ""
        return cls(call=call, content=result.content, ok=result.ok, gist=gist)


@dataclass(frozen=True, slots=True)
class Said:
    """Text from the user, or from the runtime in the user's place."""

    text: str


@dataclass(frozen=True, slots=True)
class Given:
    """Messages of an earlier conversation, in the provider's own shapes."""

    messages: tuple[Mapping[str, Any], ...]
    dialect: str


@dataclass(frozen=True, slots=True)
class Turned:
    """An answer of the model."""

    turn: ModelTurn


@dataclass(frozen=True, slots=True)
class Answered:
    """The replies to all calls of the turn before, in order, and what the runtime has to add."""

    replies: tuple[Reply, ...]
    note: str = ""


Entry = Said | Given | Turned | Answered


class Transcript:
    """The entries of one run.

    Args:
        entries: To begin with.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        self._views: dict[str, _View] = {}

    def add(self, entry: Entry) -> None:
        """Append one entry."""
        self.entries.append(entry)

    def wire(self, dialect: str) -> list[dict[str, Any]]:
        """The messages as `dialect` writes them; a fresh list of shared messages, not to be changed."""
        view = self._views.setdefault(dialect, _View(dialect))
        view.catch_up(self.entries)
        return list(view.messages)

    def compact(self, max_error_chars: int) -> bool:
        """Cut repeated errors to one line where error text has outgrown its bound; the last of each stays in full.

        Not done turn by turn: each change of an early message costs the provider's prompt cache.

        Returns:
            Whether anything changed.
        """
        if self._error_chars() <= max_error_chars:
            return False
        seen: set[tuple[str, str]] = set()
        changed = False
        for index in range(len(self.entries) - 1, -1, -1):
            entry = self.entries[index]
            if isinstance(entry, Answered):
                replies = tuple(_cut(reply, seen) for reply in reversed(entry.replies))[::-1]
                if replies != entry.replies:
                    self.entries[index] = replace(entry, replies=replies)
                    changed = True
        if changed:
            self._views.clear()
        return changed

    def _error_chars(self) -> int:
        return sum(
            len(reply.content)
            for entry in self.entries
            if isinstance(entry, Answered)
            for reply in entry.replies
            if not reply.ok and isinstance(reply.content, str)
        )

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Transcript({len(self.entries)} entries)"


def _cut(reply: Reply, seen: set[tuple[str, str]]) -> Reply:
    if reply.ok or not isinstance(reply.content, str):
        return reply
    key = (reply.call.name, reply.gist)
    if key not in seen:
        seen.add(key)
        return reply
    line = f"Failed: {reply.gist}. The same failure again later is told in full."
    return reply if len(reply.content) <= _ONE_LINE else replace(reply, content=line)


class _View:
    """One dialect's messages, kept up to date."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.messages: list[dict[str, Any]] = []
        self._done = 0
        self._native = True

    def catch_up(self, entries: Sequence[Entry]) -> None:
        for entry in entries[self._done :]:
            self._append(entry)
        self._done = len(entries)

    def _append(self, entry: Entry) -> None:
        if isinstance(entry, Turned):
            self._native = bool(entry.turn.messages) and entry.turn.dialect == self.dialect
            made = (
                [dict(m) for m in entry.turn.messages]
                if self._native
                else wire.spoken(self.dialect, entry.turn)
            )
        elif isinstance(entry, Answered):
            replies = [r if self._native else replace(r, call=wire.portable(r.call)) for r in entry.replies]
            made = wire.answered(self.dialect, replies, entry.note)
        elif isinstance(entry, Given):
            made = [dict(message) for message in entry.messages]
        else:
            made = [wire.said(entry.text)]
        wire.extend(self.dialect, self.messages, made)
