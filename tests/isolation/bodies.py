"""Bodies for workers: importable by name, each with one way to behave or to misbehave."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date

from pydantic import BaseModel

from failsoft.core.calls import Progress
from failsoft.core.context import CallContext, current
from failsoft.core.errors import NotFound

IGNORES_TERM = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


class Weather(BaseModel):
    city: str
    day: date
    raw: bytes = b""


@dataclass
class Point:
    x: int
    y: float


def add(a: int, b: int = 2) -> int:
    return a + b


async def add_async(a: int, b: int = 2) -> int:
    await asyncio.sleep(0)
    return a + b


def echo(value: object) -> object:
    return value


def broken_text() -> str:
    return "text \ud800 \x00"


def weather(
    weather: Weather, points: list[Point], names: dict[int, str], raw: bytes, limit: float
) -> Weather:
    assert (raw, limit) == (b"\xff\x00", float("inf"))
    assert isinstance(weather, Weather)
    assert isinstance(points[0], Point)
    assert all(isinstance(key, int) for key in names)
    return weather.model_copy(update={"city": f"{weather.city} {len(points)} {names[1]}"})


def context(ctx: CallContext, a: int) -> dict[str, object]:
    assert ctx is current()
    ctx.acted()
    ctx.progress(1, 2, "half")
    logging.getLogger("tests.isolation.bodies").warning("from %s", "inside")
    return {
        "run": ctx.run_id,
        "attempt": ctx.attempt,
        "key": ctx.idempotency_key,
        "left_s": ctx.remaining_s,
        "id": ctx.id,
        "pid": os.getpid(),
    }


def numbers(n: int, fail: bool = False) -> Iterator[int]:
    for i in range(n):
        yield Progress(i, n)  # type: ignore[misc]
        yield i
    if fail:
        raise ValueError("after some")


async def numbers_async(n: int) -> AsyncIterator[int]:
    for i in range(n):
        await asyncio.sleep(0)
        yield i


def pid() -> int:
    return os.getpid()


def sleeps(seconds: float = 60) -> str:
    time.sleep(seconds)
    return "slept"


async def sleeps_async(seconds: float = 60) -> str:
    await asyncio.sleep(seconds)
    return "slept"


def spins() -> None:
    while True:
        pass


async def spins_async() -> None:
    while True:
        pass


def blocks_in_c() -> None:
    sum(range(10**13))


def swallows() -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(60)
        except BaseException:
            continue
    return "never"


async def swallows_async() -> str:
    while True:
        try:
            await asyncio.sleep(60)
        except BaseException:
            continue


def forks(path: str, leave_group: bool = False, sleep_s: float = 60) -> str:
    """Start a grandchild that ignores SIGTERM, write its id, go on."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", IGNORES_TERM], start_new_session=leave_group)
    with open(path, "a") as file:
        file.write(f"{child.pid}\n")
    time.sleep(sleep_s)
    child.returncode = 0  # not waited for on purpose
    return "done"


def forks_and_crashes(path: str) -> None:
    forks(path, True, 0)
    os.kill(os.getpid(), signal.SIGSEGV)


def daemonizes(path: str) -> None:
    """Start a grandchild by way of a child that ends: an orphan in a session of its own."""
    code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-I', '-S', '-c', {IGNORES_TERM!r}], start_new_session=True); open({path!r}, 'w').write(f'{{p.pid}}\\n'); p.returncode = 0"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
    time.sleep(60)


def eats_memory() -> int:
    held = []
    while True:
        held.append(bytearray(8 << 20))


def segfaults() -> None:
    ctypes.string_at(0)


def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exits(code: int = 3) -> None:
    os._exit(code)


def sys_exits() -> None:
    sys.exit(3)


def prints(megabytes: int = 100) -> str:
    line = "x" * (1 << 20)
    for _ in range(megabytes):
        print(line)
    sys.stdout.flush()
    return "printed"


def huge(megabytes: int) -> str:
    return "x" * (megabytes << 20)


def raises_in_cleanup() -> None:
    try:
        time.sleep(60)
    finally:
        raise ValueError("in cleanup")


def answers_late() -> str:
    try:
        time.sleep(60)
    except BaseException:
        return "late"
    return "early"


def cleans_up(path: str) -> None:
    try:
        time.sleep(60)
    finally:
        with open(path, "w") as file:
            file.write("cleaned")


class Special(ConnectionError):
    def __init__(self, code: int, *, extra: str) -> None:
        super().__init__(f"special {code}")
        self.code, self.extra = code, extra


def raises(kind: str) -> None:
    if kind == "refused":
        raise ConnectionRefusedError(111, "Connection refused")
    if kind == "special":
        try:
            raise KeyError("inner")
        except KeyError as exc:
            raise Special(7, extra="more") from exc
    if kind == "agent":
        raise NotFound("no such city", reason="no_city", context={"city": "Atlantis"})
    if kind == "group":
        raise ExceptionGroup("several", [ValueError("one"), TimeoutError("two")])
    if kind == "cancelled":
        raise asyncio.CancelledError
    raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def unserializable() -> object:
    return object()


def uses_cpu() -> None:
    spins()


def leaves_child(path: str) -> str:
    return forks(path, False, 0)


outer = lambda: 1  # noqa: E731


def trace_id() -> str:
    """The trace that the worker believes to be in."""
    from opentelemetry import trace

    return format(trace.get_current_span().get_span_context().trace_id, "032x")
