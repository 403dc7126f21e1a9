"""Who wrote a claim, as text, and whether that process is known to have ended.

A restarted script must not wait for a lease of its killed predecessor. Only the same kernel and the same process
namespace can tell; elsewhere the answer is "not known to be gone" and the lease decides.
"""

from __future__ import annotations

import os
import sys

__all__ = ["is_gone", "this_process"]

_mine: tuple[int, str] | None = None


def this_process() -> str:
    """`linux:BOOT/NAMESPACE:PID:START`, or an empty text on systems that cannot tell processes apart for certain."""
    global _mine
    pid = os.getpid()
    if _mine is None or _mine[0] != pid:  # after a fork
        _mine = (pid, _describe(pid))
    return _mine[1]


def is_gone(owner: str) -> bool:
    """Whether the process is known to have ended. False whenever that is not certain."""
    parts = owner.split(":")
    mine = this_process()
    if not owner or len(parts) != 4 or mine.split(":")[:2] != parts[:2] or owner == mine:
        return False
    started, state = _stat(int(parts[2]))
    return started != parts[3] or state in "ZX"


def _describe(pid: int) -> str:
    if sys.platform != "linux":
        return ""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""
    started, _ = _stat(pid)
    return f"linux:{boot}/{namespace}:{pid}:{started}" if started else ""


def _stat(pid: int) -> tuple[str, str]:
    """Start time in clock ticks since boot, and the state's letter; empty texts where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name in brackets may hold anything; the fields after the last bracket may not.
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "", ""
    return fields[19], fields[0]
