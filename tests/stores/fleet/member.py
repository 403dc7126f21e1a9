"""The processes of a fleet: each calls a service again and again, and writes down what it saw.

    python member.py FLEET_URL SERVICE_PORT MEMBERS FOLDER [SHARED]

One process imports everything and forks the members, because sixteen imports take longer than the test.
Lines of JSON on stdout: one for each change of the breaker, each probe and each spell of successes.
Times are the system's monotonic clock, which all processes of a machine share. All end when stdin ends.
Each has a folder for temporary files of its own, as on a machine of its own, but where `SHARED` is said.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
import time
import traceback
from typing import Any

from failsoft.core.errors import Unavailable
from failsoft.core.events import Event, EventName
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Retry
from failsoft.tools import tool

URL, PORT, MEMBERS, FOLDER = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
member = 0
harness: Harness


def say(what: str, **data: Any) -> None:
    line = json.dumps({"member": member, "what": what, "at": time.monotonic(), **data})
    os.write(1, f"{line}\n".encode())  # in one piece: all members write to the same pipe


@tool(read_only=True, timeout_s=3)
async def ask() -> str:
    """Ask the service."""
    breaker = harness._shared.plans["ask"].breaker
    is_probe = breaker is not None and breaker.state == "half_open"
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        writer.write(b"?\n")
        answer = await reader.readline()
        writer.close()
    finally:
        if is_probe:
            say("probe", began=began)
    if answer != b"up\n":
        raise Unavailable("down")
    return "up"


def hear(event: Event) -> None:
    if event.name is EventName.BREAKER_CHANGED:
        say(event.data["after"], reason=event.data["reason"])
    elif event.name in (EventName.STORE_TROUBLE, EventName.STORE_RECOVERED):
        say(event.name)


def make() -> Harness:
    return Harness(
        [ask],
        policy=Policy(
            breaker=Breaker(hard_failures=3, open_s=1.0, max_open_s=1.5), retry=Retry(max_attempts=1)
        ),
        store="memory",
        fleet=URL,
        sinks=[hear],
        config=None,
    )


async def work(ended: asyncio.Event) -> None:
    told = 0.0
    while not ended.is_set():
        result = await harness.call("ask", {})
        if result.ok and time.monotonic() - told > 0.1:
            told = time.monotonic()
            say("success")
        elif result.error is not None and result.error.kind not in ("unavailable", "circuit_open"):
            say("strange", error=repr(result.error))
        await asyncio.sleep(random.uniform(0.01, 0.06))


async def main() -> None:
    global harness
    harness = make()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    async with harness:
        await work(ended)


def be(number: int) -> None:
    global member
    member = number
    random.seed(number)
    if sys.argv[-1] != "SHARED":
        tempfile.tempdir = os.path.join(FOLDER, str(number))
        os.makedirs(tempfile.tempdir, exist_ok=True)
    asyncio.run(main())


def become_many() -> int:
    children = []
    for number in range(MEMBERS):
        child = os.fork()
        if not child:
            code = 1
            try:
                be(number)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    return max(os.waitpid(child, 0)[1] for child in children)


sys.exit(1 if become_many() else 0)
