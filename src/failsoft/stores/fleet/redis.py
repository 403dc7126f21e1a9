"""Fleet state in Redis or Valkey. Needs `failsoft[redis]`.

The client's own retries are off: by default it resends for half a minute, and a call would wait for it.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

from failsoft.core.errors import UsageError
from failsoft.stores.fleet._scripts import STEP, TAKE
from failsoft.stores.fleet.port import FORMAT, Block, FleetError, SharedBreaker

try:
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError
except ImportError as exc:
    raise UsageError("a fleet in Redis or Valkey needs redis\n\nhint: pip install 'failsoft[redis]'") from exc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from failsoft.stores.fleet.port import Wish

__all__ = ["RedisFleet"]

_US = 1_000_000
_TROUBLE = (RedisError, OSError, TimeoutError)
# How long a breaker is remembered after its last change: longer than any opening, short enough to leave nothing behind.
_KEEP_MS = 24 * 3600 * 1000


class RedisFleet:
    """A store on a server, one for each process and loop. It connects when first needed, and again after a loss.

    Args:
        url: `redis://...`, `rediss://...` or `unix://...`; options of the client may stand in its query.
        name: Which fleet; part of every key.
        timeout_s: Longest wait for one answer, and for a connection.
    """

    def __init__(self, url: str, *, name: str = "default", timeout_s: float = 0.5) -> None:
        # In braces: a cluster keeps all keys of a fleet on one node, as the scripts need.
        self._prefix = f"failsoft:{FORMAT}:{{{name}}}:"
        self._channel = f"{self._prefix}changes"
        self._index = f"{self._prefix}index"
        self._timeout_s = timeout_s
        try:
            self._client: Any = Redis.from_url(
                url,
                decode_responses=True,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as exc:
            raise UsageError(f"the fleet's URL cannot be read: {exc}") from exc
        self._step_script = self._client.register_script(STEP)
        self._take_script = self._client.register_script(TAKE)

    async def open(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        return await self._step("open", wish)

    async def lease(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        return await self._step("lease", wish)

    async def close(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        return await self._step("close", wish)

    async def give_back(self, wish: Wish) -> SharedBreaker:
        """See `FleetStore`."""
        return await self._step("give_back", wish)

    async def changes(self, since: int) -> Sequence[SharedBreaker]:
        """See `FleetStore`."""
        members = await self._ask(self._client.zrange(self._index, f"({since}", "+inf", byscore=True))
        return [await self._run_step("read", member) for member in members]

    async def listen(self, on_change: Callable[[SharedBreaker], object]) -> None:
        """See `FleetStore`."""
        pubsub = self._client.pubsub(ignore_subscribe_messages=True)
        try:
            await self._ask(pubsub.subscribe(self._channel))
            while True:
                # A read with an end, although nothing is done at it: a subscription blocks without one.
                message = await pubsub.get_message(timeout=60.0)
                if message is not None:
                    on_change(_shared(json.loads(message["data"])))
        except _TROUBLE as exc:
            raise FleetError(f"the fleet's messages stopped: {exc}") from exc
        finally:
            await pubsub.aclose()

    async def take(
        self, member: str, *, calls: int, per_s: float, burst: int, turns: int, max_wait_s: float
    ) -> Block:
        """See `FleetStore`."""
        patience = min(max_wait_s * _US, 1e15)
        values = [calls, round(per_s * _US), burst, turns, math.floor(patience)]
        row = await self._ask(self._take_script(keys=[f"{self._prefix}rate:{member}"], args=values))
        return Block(turns=int(row[0]), wait_s=int(row[1]) / _US)

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._client.aclose()

    async def _step(self, op: str, wish: Wish) -> SharedBreaker:
        span = math.ceil(wish.span_s * _US)
        return await self._run_step(op, wish.member, wish.owner, wish.seen, span, wish.opened, wish.reason)

    async def _run_step(
        self,
        op: str,
        member: str,
        owner: str = "",
        seen: int = 0,
        span: int = 0,
        opened: int = 0,
        reason: str = "",
    ) -> SharedBreaker:
        keys = [f"{self._prefix}breaker:{member}", self._index]
        values: list[str | int] = [op, self._channel, member, owner, seen, span, opened, reason, _KEEP_MS]
        return _shared(await self._ask(self._step_script(keys=keys, args=values)))

    async def _ask(self, answer: Any) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await answer
        except _TROUBLE as exc:
            raise FleetError(f"the fleet's store did not answer: {str(exc) or type(exc).__name__}") from exc

    def __repr__(self) -> str:
        return f"RedisFleet({self._prefix!r})"


def _shared(row: list[str]) -> SharedBreaker:
    member, state, generation, left, opened, owner, reason, *granted = row
    return SharedBreaker(
        member=member,
        state=state,  # type: ignore[arg-type]
        generation=int(generation),
        left_s=int(left) / _US,
        opened=int(opened),
        owner=owner,
        reason=reason,
        granted=granted == ["1"],
    )
