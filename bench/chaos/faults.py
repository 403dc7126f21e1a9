"""A service over HTTP that fails on a seeded schedule, and a model that spoils what it sends.

The schedule depends on the seed, the task, the call and how often it has been sent, and on nothing else:
all systems meet the same faults, whatever they do in between.
"""

from __future__ import annotations

import asyncio
import collections
import json
import random
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from bench.chaos.world import World

__all__ = ["SECRET", "Transport", "spoiled"]

SECRET = "sk-live-4f9a7c21e8b04d6f"
KINDS = ("refused", "lost", "rate", "busy", "gateway", "hang", "crash", "slow")
CLIENT_TIMEOUT_S = 60.0


class Transport:
    """What a tool's body calls: sends one request to the domain, or fails as a network does.

    Args:
        world: The domain.
        rate: Share of requests that meet a fault.
        seed: Of the schedule.
        task_id: The task.
    """

    def __init__(self, world: World, rate: float, seed: int, task_id: str) -> None:
        self._world, self._rate, self._seed, self._task_id = world, rate, seed, task_id
        self._sent: collections.Counter[str] = collections.Counter()

    async def send(self, name: str, arguments: dict[str, Any]) -> str:
        """One request and its answer.

        Raises:
            httpx.HTTPError: As httpx raises it.
            RuntimeError: The client crashed.
        """
        key = f"{name} {json.dumps(arguments, sort_keys=True, default=str)}"
        self._sent[key] += 1
        rng = random.Random(f"{self._seed} {self._task_id} {key} {self._sent[key]}")
        fault = rng.choice(KINDS) if rng.random() < self._rate else ""
        request = httpx.Request("POST", f"https://10.20.0.7/{name}?api_key={SECRET}")
        if fault == "refused":
            raise httpx.ConnectError("[Errno 111] Connection refused", request=request)
        if fault in ("rate", "busy"):
            raise _status(429 if fault == "rate" else 503, request, {"retry-after": "2"})
        if fault == "slow":
            await asyncio.sleep(8)
        acts = fault in ("", "slow", "lost") or rng.random() < 0.5
        answer = self._act(name, arguments, request) if acts else ""
        if fault == "lost":
            raise httpx.RemoteProtocolError(
                "Server disconnected without sending a response.", request=request
            )
        if fault == "gateway":
            raise _status(502, request, {})
        if fault == "crash":
            raise RuntimeError(f"worker gone while calling {request.url}")
        if fault == "hang":
            await asyncio.sleep(CLIENT_TIMEOUT_S)
            raise httpx.ReadTimeout("", request=request)
        return answer

    def _act(self, name: str, arguments: dict[str, Any], request: httpx.Request) -> str:
        try:
            return self._world.act(name, arguments)
        except ValueError as exc:
            raise _status(422, request, {}, {"error": str(exc)}) from exc


def _status(
    code: int, request: httpx.Request, headers: dict[str, str], body: Any = None
) -> httpx.HTTPStatusError:
    response = httpx.Response(code, request=request, headers=headers, json=body)
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as exc:
        return exc
    raise AssertionError("a status that is no error")


def spoiled(name: str, text: str, rate: float, key: str) -> tuple[str, str]:
    """A call as a model may send it: name and text, sometimes garbled or cut off, or under a wrong name."""
    rng = random.Random(key)
    if rng.random() >= rate:
        return name, text
    kind = rng.choice(("fence", "comma", "quotes", "cut", "name"))
    if kind == "name":
        return f"functions.{name}", text
    if kind == "cut":
        return name, text[: max(1, len(text) * 2 // 3)]
    if kind == "fence":
        return name, f"```json\n{text}\n```"
    if kind == "comma":
        return name, f"{text[:-1]},}}"
    return name, repr(json.loads(text))
