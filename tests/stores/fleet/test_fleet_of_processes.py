"""Sixteen real processes, one server, one service that goes down."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.process, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(60)]

MEMBERS = 16
MEMBER = Path(__file__).with_name("member.py")


class Fleet:
    """The processes and what they said."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.ended = False
        self.is_up = True
        self.requests = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The service: slow enough that two probes at a time would be seen."""
        self.requests += 1
        with contextlib.suppress(ConnectionError):
            await reader.readline()
            await asyncio.sleep(0.05)
            writer.write(b"up\n" if self.is_up else b"down\n")
            await writer.drain()
        writer.close()

    async def read(self, stdout: asyncio.StreamReader) -> None:
        async for line in stdout:
            self.lines.append(json.loads(line))
        self.ended = True

    def first(self, what: str, after: float = 0.0) -> dict[int, float]:
        """When each member said it first, after a moment."""
        found: dict[int, float] = {}
        for line in self.lines:
            if line["what"] == what and line["at"] > after:
                found.setdefault(line["member"], line["at"])
        return found

    def probes(self) -> list[tuple[float, float]]:
        """Beginning and end of each probe, in order."""
        return sorted((line["began"], line["at"]) for line in self.lines if line["what"] == "probe")

    async def until_all(self, what: str, after: float, within_s: float) -> None:
        began = time.monotonic()
        while len(self.first(what, after)) < MEMBERS:
            assert not self.ended, "the members have ended"
            missing = set(range(MEMBERS)) - set(self.first(what, after))
            assert time.monotonic() - began < within_s, f"{what}: not said by {missing}"
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def fleet_of(url: str, folder: Path, *shared: str) -> AsyncIterator[Fleet]:
    fleet = Fleet()
    service = await asyncio.start_server(fleet.answer, "127.0.0.1", 0)
    port = str(service.sockets[0].getsockname()[1])
    command = [sys.executable, str(MEMBER), url, port, str(MEMBERS), str(folder), *shared]
    nursery = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        start_new_session=True,
    )
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    reader = asyncio.ensure_future(fleet.read(nursery.stdout))
    try:
        await fleet.until_all("success", 0.0, 25)
        yield fleet
        nursery.stdin.close()
        assert await nursery.wait() == 0
        assert not [line for line in fleet.lines if line["what"] == "strange"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(nursery.pid, signal.SIGKILL)
        nursery.stdin.close()
        await nursery.wait()
        service.close()
        await asyncio.gather(reader, return_exceptions=True)
        await service.wait_closed()


async def outage(fleet: Fleet, meanwhile: Callable[[], Awaitable[None]]) -> None:
    """The service goes down, something happens, it comes back: nobody stampedes, nobody is stuck."""
    down = time.monotonic()
    fleet.is_up = False
    await fleet.until_all("open", down, 10)
    opened = fleet.first("open", down).values()
    assert max(opened) - min(opened) < 1.0
    all_open = fleet.requests
    await meanwhile()
    up = time.monotonic()
    fleet.is_up = True
    await fleet.until_all("closed", down, 10)
    await fleet.until_all("success", max(fleet.first("closed", up).values()), 10)
    probes = fleet.probes()
    overlaps = [(a, b) for a, b in itertools.pairwise(probes) if b[0] < a[1]]
    assert not overlaps, f"{len(overlaps)} of {len(probes)} probes ran beside another"
    before = [began for began, _ in probes if began < up]
    assert before, "nobody probed during the outage"
    assert all_open < fleet.requests


async def test_one_probe_in_a_fleet_of_sixteen_machines(server: Any, tmp_path: Path) -> None:
    """Each member for itself, as on a machine of its own: all open within a second, one probe at a time, all close."""
    async with fleet_of(server.url, tmp_path) as fleet:

        async def wait() -> None:
            await asyncio.sleep(4)

        await outage(fleet, wait)
        # One for each opening, and not one for each member: 1 s, 1.5 s and 1.5 s, each up to a tenth shorter.
        assert 3 <= len(fleet.probes()) <= 6


async def test_the_store_is_killed_in_the_middle(server: Any, tmp_path: Path) -> None:
    """The server dies during the outage and comes back without its memory: still one probe at a time on a machine."""
    async with fleet_of(server.url, tmp_path, "SHARED") as fleet:
        killed = 0.0

        async def kill() -> None:
            nonlocal killed
            await asyncio.sleep(0.3)
            killed = time.monotonic()
            server.kill()
            await fleet.until_all("store_trouble", killed, 3)
            await asyncio.sleep(2)
            server.start()
            await fleet.until_all("store_recovered", killed, 5)
            await asyncio.sleep(1.5)

        await outage(fleet, kill)
        for what in ("store_trouble", "store_recovered"):
            said = [line for line in fleet.lines if line["what"] == what and line["at"] > killed]
            assert len(said) == MEMBERS, f"{what}: once each"
