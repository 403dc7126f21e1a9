"""A service over HTTP that fails on a seeded schedule.

The schedule depends on the seed, the task, the call and how often it has been sent, and on nothing else:
all systems meet the same faults, whatever they do in between.
"""

from __future__ import annotations

import asyncio
import collections
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from bench.chaos.garble import spoiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.chaos.world import World

__all__ = ["KINDS", "Fault", "Schedule", "Transport"]

# refused before it was sent · carried out, the answer lost · 429 · 5xx · hanging · the client crashes · slow
KINDS = ("refused", "lost", "rate", "server", "hang", "crash", "slow")
CLIENT_TIMEOUT_S = 60.0
# Shorter than every time-out that a system is set up with: a slow answer is not a failure.
SLOW_S = (3.0, 12.0)
_PATIENCE_S = (1, 2, 4, 8)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to one request.

    Args:
        kind: One of `KINDS`.
        acts: Whether the service carries the request out all the same.
        detail: Draws for the rest: which status, how slow, which hint.
    """

    kind: str
    acts: bool
    detail: random.Random


class Schedule:
    """The faults of one task, and the calls that its model spoils: half as many.

    Args:
        rate: Share of requests that meet a fault, from 0 to 1.
        seed: Of the schedule.
        task_id: The task.
    """

    def __init__(self, rate: float, seed: int, task_id: str) -> None:
        self.rate, self.key = rate, f"{seed} {task_id}"
        # Up to this rate nothing that was asked so far would have been answered differently.
        self.same_up_to = 1.0
        # Of a key, a password or a token; it is in what is said when something fails.
        self.secret = f"{random.Random(f'secret {self.key}').getrandbits(96):024x}"

    def fault(self, effect: str, time: int) -> Fault | None:
        """What happens to a call when it is sent for the first time, the second …"""
        rng = random.Random(f"{self.key} {effect} {time}")
        if not self._strikes(rng.random()):
            return None
        kind = rng.choice(KINDS)
        acts = kind in ("slow", "lost") or (kind in ("server", "hang", "crash") and rng.random() < 0.5)
        return Fault(kind=kind, acts=acts, detail=rng)

    def garbled(self, name: str, text: str, place: str) -> tuple[str, str]:
        """A call as the model sends it at one place of its task."""
        rng = random.Random(f"{self.key} {place}")
        return spoiled(name, text, rng) if self._strikes(rng.random() * 2) else (name, text)

    def _strikes(self, draw: float) -> bool:
        if draw < self.rate:
            return True
        self.same_up_to = min(self.same_up_to, draw)
        return False


class Transport:
    """What a tool's body calls: sends one request to the domain, or fails as a network does.

    Args:
        world: The domain.
        schedule: Its faults.
        now: Seconds that only go forward.
    """

    def __init__(self, world: World, schedule: Schedule, now: Callable[[], float]) -> None:
        self._world, self._schedule, self._now = world, schedule, now
        self._sent: collections.Counter[str] = collections.Counter()
        self._limited_until = 0.0
        self.met: list[str] = []

    async def send(self, name: str, arguments: dict[str, Any]) -> str:
        """One request and its answer.

        Raises:
            httpx.HTTPError: As httpx raises it.
            RuntimeError: The client crashed.
        """
        effect = self._world.effect(name, arguments)
        self._sent[effect] += 1
        fault = self._schedule.fault(effect, self._sent[effect])
        if fault is not None and fault.kind != "slow":
            self.met.append(f"{name} #{self._sent[effect]}: {fault.kind}{', acted' if fault.acts else ''}")
        if self._now() < self._limited_until:
            raise self._too_many(name, int(self._limited_until - self._now()) + 1, None)
        if fault is None:
            return self._act(name, arguments)
        if fault.kind == "slow":
            await asyncio.sleep(fault.detail.uniform(*SLOW_S))
        answer = self._act(name, arguments) if fault.acts else ""
        if fault.kind == "slow":
            return answer
        raise await self._failure(name, fault)

    async def _failure(self, name: str, fault: Fault) -> Exception:
        if fault.kind == "rate":
            patience_s = fault.detail.choice(_PATIENCE_S)
            self._limited_until = self._now() + patience_s
            return self._too_many(name, patience_s, fault.detail)
        request = self._request(name)
        if fault.kind == "refused":
            return httpx.ConnectError("[Errno 111] Connection refused", request=request)
        if fault.kind == "lost":
            return httpx.RemoteProtocolError(
                "Server disconnected without sending a response.", request=request
            )
        if fault.kind == "crash":
            secret = self._schedule.secret
            where = (str(request.url), f"postgresql://svc:{secret}@10.20.0.7:5432/shop", f"Bearer {secret}")
            return RuntimeError(f"worker gone while calling {name} with {fault.detail.choice(where)}")
        if fault.kind == "hang":
            await asyncio.sleep(CLIENT_TIMEOUT_S)
            return httpx.ReadTimeout("", request=request)
        # 503 is what a gateway says that passes nothing on; behind the others something may have been done.
        code = fault.detail.choice((500, 502, 504) if fault.acts else (500, 502, 503, 504))
        return _status(code, request)

    def _too_many(self, name: str, patience_s: int, detail: random.Random | None) -> Exception:
        """A 429 that says when to come back: in a header, in milliseconds, or in words."""
        how = (
            detail.choice(("retry-after", "retry-after-ms", "words")) if detail is not None else "retry-after"
        )
        headers = {"retry-after": str(patience_s), "retry-after-ms": str(patience_s * 1000)}
        body = {"error": f"Rate limit reached. Please try again in {patience_s}s."}
        given = {} if how == "words" else {how: headers[how]}
        return _status(429, self._request(name), given, body if how == "words" else None)

    def _act(self, name: str, arguments: dict[str, Any]) -> str:
        try:
            return self._world.act(name, arguments)
        except ValueError as exc:
            raise _status(422, self._request(name), {}, {"error": str(exc)}) from exc

    def _request(self, name: str) -> httpx.Request:
        return httpx.Request("POST", f"https://10.20.0.7/{name}?api_key=sk-live-{self._schedule.secret}")


def _status(
    code: int, request: httpx.Request, headers: dict[str, str] | None = None, body: Any = None
) -> httpx.HTTPStatusError:
    response = httpx.Response(code, request=request, headers=headers or {}, json=body)
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as exc:
        return exc
    raise AssertionError("a status that is no error")
