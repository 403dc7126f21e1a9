"""A process that builds a harness and forks afterwards, as servers do: `python forking.py FLEET_URL`."""

import os
import sys
import time

from failsoft.core.errors import Unavailable
from failsoft.harness.harness import Harness
from failsoft.policies import Breaker, Policy, Retry
from failsoft.tools import tool


@tool(read_only=True)
def ask() -> str:
    """Fail."""
    raise Unavailable("down")


harness = Harness(
    [ask],
    policy=Policy(breaker=Breaker(hard_failures=3, open_s=30), retry=Retry(max_attempts=1)),
    store="memory",
    fleet=sys.argv[1],
    config=None,
)


def state_within(seconds: float) -> str:
    breaker = harness._shared.plans["ask"].breaker
    assert breaker is not None
    ends = time.monotonic() + seconds
    while breaker.state == "closed" and time.monotonic() < ends:
        time.sleep(0.01)
    return breaker.state


time.sleep(0.2)
go, ready = os.pipe()
listener = os.fork()
if not listener:
    os.write(ready, b"x")
    os._exit(0 if state_within(5) == "open" else 1)
os.read(go, 1)
time.sleep(0.3)
breaking = os.fork()
if not breaking:
    for _ in range(3):
        harness.call_sync("ask", {})
    time.sleep(0.5)
    os._exit(0 if state_within(0) == "open" else 1)
print("parent", state_within(5))
print("listener", os.waitpid(listener, 0)[1])
print("breaking", os.waitpid(breaking, 0)[1])
harness.close_sync()
