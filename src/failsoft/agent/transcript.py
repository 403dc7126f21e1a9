"""The conversation so far, neutral, and its exact wire shapes in any dialect.

Append-only but for one thing: when error text outgrows its bound, repeated errors are cut to one line.
Rendering is incremental: a turn costs what is new in it, and the early messages stay the same objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from failsoft.agent import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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

    def compact(self, max_chars: int) -> bool:
        """Keep the text of errors within a bound: repeated ones are cut to one line, then the oldest of the others.

        The last of each failure stays in full as long as there is room, the very last one always.
        Not done turn by turn: each change of an early message costs the provider's prompt cache.

        Returns:
            Whether anything changed.
        """
        if self._error_chars() <= max_chars:
            return False
        errors = [(index, place) for index, place, _ in self._errors()]
        before = list(self.entries)
        seen: set[tuple[str, str]] = set()
        for index, place in reversed(errors):
            reply = self._reply(index, place)
            key = (reply.call.name, reply.gist)
            if key in seen:
                self._cut(index, place)
            seen.add(key)
        for index, place in errors[:-1]:
            if self._error_chars() <= max_chars:
                break
            self._cut(index, place)
        changed = self.entries != before
        if changed:
            self._views.clear()
        return changed

    def _errors(self) -> Iterator[tuple[int, int, Reply]]:
        for index, entry in enumerate(self.entries):
            if isinstance(entry, Answered):
                for place, reply in enumerate(entry.replies):
                    if not reply.ok and isinstance(reply.content, str) and len(reply.content) > _ONE_LINE:
                        yield index, place, reply

    def _reply(self, index: int, place: int) -> Reply:
        entry = self.entries[index]
        assert isinstance(entry, Answered)
        return entry.replies[place]

    def _cut(self, index: int, place: int) -> None:
        entry = self.entries[index]
        assert isinstance(entry, Answered)
        replies = list(entry.replies)
        gist = replies[place].gist or "an error"
        replies[place] = replace(
            replies[place], content=f"Failed: {gist}. (Shortened: an earlier failure.)"[:_ONE_LINE]
        )
        self.entries[index] = replace(entry, replies=tuple(replies))

    def _error_chars(self) -> int:
        return sum(len(reply.content) for _, _, reply in self._errors())

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Transcript({len(self.entries)} entries)"


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
