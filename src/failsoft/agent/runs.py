"""Where runs are kept that may go on later."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Protocol

__all__ = ["FileRuns", "MemoryRuns", "RunStore"]

_MOST = 200


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

    def __repr__(self) -> str:
        return f"MemoryRuns({len(self._states)})"


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
        text = json.dumps(state, ensure_ascii=False, default=str)
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

    def _path(self, run_id: str) -> Path:
        # A run's id may come from outside: no part of it may name another folder.
        safe = re.sub(r"[^A-Za-z0-9_-]", lambda match: f"%{ord(match.group()):x}", run_id)
        return self.folder / f"{safe[:200]}.json"

    def _write(self, path: Path, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def __repr__(self) -> str:
        return f"FileRuns({str(self.folder)!r})"
