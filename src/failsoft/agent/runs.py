"""Where runs are kept that may go on later, and how one process at a time works on a run.

`held(run_id)` is optional for a store of one's own: without it nothing keeps two processes apart.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
import sys
import threading
from collections import OrderedDict
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from failsoft.core.errors import AgentError, Conflict
from failsoft.core.kinds import ErrorKind
from failsoft.stores.memory import MemoryStore

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from failsoft.stores.engine import EngineStore

__all__ = ["TAKEN", "FileRuns", "MemoryRuns", "RunStore", "StoreRuns", "runs_beside"]

_log = logging.getLogger("failsoft.agent")
_MOST = 200

TAKEN = "run_taken"
"""Reason of the `conflict` that tells that somebody else works on the run."""


def _taken(run_id: str) -> Conflict:
    return Conflict(
        f"Somebody else works on the run {run_id}.",
        reason=TAKEN,
        suggestion="Wait until it has ended there; a killed process is noticed at once, a lost machine in a minute.",
    )


class RunStore(Protocol):
    """Keeps the state of runs by id. `durable` says whether it outlives the process: then every step is kept."""

    durable: bool

    async def save_run(self, run_id: str, state: dict[str, Any]) -> None:
        """Keep a state, in place of the one before."""
        ...

    async def load_run(self, run_id: str) -> dict[str, Any] | None:
        """The last state; None for an unknown run."""
        ...


class MemoryRuns:
    """The last 200 runs that stopped, for as long as the process lives."""

    durable = False

    def __init__(self) -> None:
        self._states: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._held: set[str] = set()
        self._lock = threading.Lock()

    async def save_run(self, run_id: str, state: dict[str, Any]) -> None:
        """Keep a state."""
        with self._lock:
            self._states[run_id] = state
            self._states.move_to_end(run_id)
            while len(self._states) > _MOST:
                self._states.popitem(last=False)

    async def load_run(self, run_id: str) -> dict[str, Any] | None:
        """The last state."""
        return self._states.get(run_id)

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[None]:
        """Work on a run alone.

        Raises:
            Conflict: Somebody else does.
        """
        with self._lock:
            if run_id in self._held:
                raise _taken(run_id)
            self._held.add(run_id)
        try:
            yield
        finally:
            self._held.discard(run_id)

    def __repr__(self) -> str:
        return f"MemoryRuns({len(self._states)})"


class StoreRuns:
    """Runs in the store that has the ledger too: SQLite or PostgreSQL.

    Args:
        store: From `open_store`, or a harness's own: `harness.store`.
        lease_s: Seconds after which a run whose machine is lost may be taken up elsewhere. A killed process of the same
            machine is noticed at once.
    """

    durable = True

    def __init__(self, store: EngineStore, *, lease_s: float = 60.0) -> None:
        self._store = store
        self._lease_s = lease_s
        self._holders: dict[str, str] = {}

    async def save_run(self, run_id: str, state: dict[str, Any]) -> None:
        """Keep a state; an interrupted write leaves the one before.

        Raises:
            Conflict: reason `run_taken`: the run was taken up elsewhere.
        """
        await self._store.save_run(run_id, state, holder=self._holders.get(run_id))

    async def load_run(self, run_id: str) -> dict[str, Any] | None:
        """The last state."""
        return await self._store.load_run(run_id)

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[None]:
        """Work on a run alone, on all machines. Where the store is in trouble the run goes on without.

        Raises:
            Conflict: Somebody else works on it.
        """
        holder = secrets.token_hex(8)
        try:
            is_mine = await self._store.hold_run(run_id, holder, self._lease_s)
        except AgentError as error:
            if error.kind != ErrorKind.UNAVAILABLE:
                raise
            _log.warning("the run %s goes on without being held: %s", run_id, error)
            yield
            return
        if not is_mine:
            raise _taken(run_id)
        self._holders[run_id] = holder
        renewing = asyncio.create_task(self._renew(run_id, holder))
        try:
            yield
        finally:
            renewing.cancel()
            del self._holders[run_id]
            self._store.free_run_soon(run_id, holder)

    async def _renew(self, run_id: str, holder: str) -> None:
        while True:
            # Real time, whatever clock the run has: it tells others that this process is alive.
            await asyncio.sleep(self._lease_s / 3)
            with contextlib.suppress(AgentError):  # the next save tells
                await self._store.hold_run(run_id, holder, self._lease_s)

    def __repr__(self) -> str:
        return f"StoreRuns({self._store!r})"


def runs_beside(store: Any) -> RunStore:
    """Where an agent keeps its runs by default: in the harness's store where that outlives the process."""
    if hasattr(store, "hold_run") and not isinstance(store, MemoryStore):
        return StoreRuns(store)
    return MemoryRuns()


class FileRuns:
    """One JSON file per run, written whole at each step, readable by its owner only.

    It holds what the model and the tools said, exactly: no sink, and as private as they are.

    Args:
        folder: Made where it is not there.
    """

    durable = True

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    async def save_run(self, run_id: str, state: dict[str, Any]) -> None:
        """Keep a state; an interrupted write leaves the one before."""
        text = json.dumps(state, default=str)
        await asyncio.to_thread(self._write, self._path(run_id), text)

    async def load_run(self, run_id: str) -> dict[str, Any] | None:
        """The last state."""
        path = self._path(run_id)
        try:
            text = await asyncio.to_thread(path.read_text, encoding="utf-8")
        except FileNotFoundError:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[None]:
        """Work on a run alone, among the processes of this machine; the system lets go when a process ends.

        Raises:
            Conflict: Somebody else works on it.
        """
        if sys.platform == "win32":  # files know no lock there
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._path(run_id).with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                raise _taken(run_id) from exc
            yield
        finally:
            os.close(lock)

    def _path(self, run_id: str) -> Path:
        # A run's id may come from outside: no part of it may name another folder.
        safe = re.sub(r"[^A-Za-z0-9_-]", lambda match: f"%{ord(match.group()):x}", run_id)
        return self.folder / f"{safe[:200]}.json"

    def _write(self, path: Path, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def __repr__(self) -> str:
        return f"FileRuns({str(self.folder)!r})"
