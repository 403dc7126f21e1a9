"""What the rooms ask of each other, as protocols: any object with the verbs fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

    from failsoft.core.context import CallContext

__all__ = ["Body", "Job", "Runner"]

Body = "Callable[..., Any]"


class Job(Protocol):
    """One body at work outside the caller's task: in a task of its own, a thread or a process."""

    @property
    def started(self) -> bool:
        """Whether the body has begun. A job that never began has had no effect."""
        ...

    @property
    def outcome(self) -> tuple[Any, BaseException | None] | None:
        """Value and error of a body that has ended; None while it has not, or was stopped.

        After `abandon` returned False it tells an answer that came just too late from a body that was stopped.
        """
        ...

    def __await__(self) -> Generator[Any, None, Any]:
        """The body's value; raises what the body raised."""
        ...

    def abandon(
        self, on_end: Callable[[Any, BaseException | None], object], *, grace_s: float | None = None
    ) -> Awaitable[bool]:
        """Stop waiting for the body, after a time-out or a cancel; takes `grace_s` seconds at most.

        Where `grace_s` is not given, the runner's own holds. A wait that is itself cancelled counts as True.

        Returns:
            True when the body runs on (a zombie): `on_end(value, error)` is called once, from any thread, when it ends.
            False when it never began, has ended, or was stopped for certain: `on_end` is never called.
        """
        ...


class Runner(Protocol):
    """Runs bodies in one kind of isolation."""

    def start(self, fn: Callable[..., Any], values: Mapping[str, Any], call: CallContext) -> Job:
        """Begin or queue one body.

        Raises:
            AgentError: kind `overloaded`, when no more bodies may be begun now.
        """
        ...

    async def aclose(self, grace_s: float) -> None:
        """End every worker; what does not end within `grace_s` seconds is left (threads) or killed (processes)."""
        ...
