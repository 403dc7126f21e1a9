"""The tools of the order desk: ordinary functions that talk HTTP, with their effects declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from failsoft.policies import Breaker, Policy, Retry, RetryBudget, Timeout
from failsoft.tools import Tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DESK_POLICY", "desk_tools"]

# A demonstration must not take a minute: the same policies as by default, on a shorter scale.
DESK_POLICY = Policy(
    timeout=Timeout(attempt_s=0.8, total_s=8),
    retry=Retry(max_attempts=4, base_s=0.2, cap_s=1),
    retry_budget=RetryBudget(min_retries=12),
    breaker=Breaker(hard_failures=6, open_s=1.0, max_open_s=2.0),
)


def desk_tools(url: str) -> list[Tool[..., Any]]:
    """The tools of a desk whose services live at `url`."""

    async def ask(method: str, path: str, **options: Any) -> Any:
        async with httpx.AsyncClient(base_url=url, timeout=5, trust_env=False) as client:
            response = await client.request(method, path, **options)
            response.raise_for_status()
            return response.json()

    return [tool(fn, **options) for fn, options in [*_reading(ask), *_acting(ask)]]


def _reading(ask: Callable[..., Any]) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    async def find_order(order_id: str) -> dict[str, Any]:
        """Find an order.

        Args:
            order_id: The order's number, such as "1042".
        """
        found: dict[str, Any] = await ask("GET", f"/orders/{order_id}")
        return found

    async def search_catalogue(query: str) -> dict[str, Any]:
        """Search the catalogue for items by the words of their title.

        Args:
            query: Words of the title, such as "blue teapot".
        """
        found: dict[str, Any] = await ask("GET", "/catalogue", params={"q": query})
        return found

    async def list_refunds(order_id: str) -> dict[str, Any]:
        """List the refunds that an order has had.

        Args:
            order_id: The order's number.
        """
        found: dict[str, Any] = await ask("GET", f"/refunds/{order_id}")
        return found

    async def list_messages(to: str) -> dict[str, Any]:
        """List the messages that were sent to an address.

        Args:
            to: The mail address.
        """
        found: dict[str, Any] = await ask("GET", f"/messages/{to}")
        return found

    looks = {"category": "query", "read_only": True}
    return [(fn, looks) for fn in (find_order, search_catalogue, list_refunds, list_messages)]


def _acting(ask: Callable[..., Any]) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    async def refund(order_id: str, amount_cents: int, reason: str) -> dict[str, Any]:
        """Refund an order. The money goes out at once.

        Args:
            order_id: The order's number.
            amount_cents: How much, in cents; at most what the order cost.
            reason: Why, in a few words.
        """
        content = {"order_id": order_id, "amount_cents": amount_cents, "reason": reason}
        done: dict[str, Any] = await ask("POST", "/refunds", json=content)
        return done

    async def send_message(to: str, subject: str, body: str) -> dict[str, Any]:
        """Send a message to a customer.

        Args:
            to: The mail address.
            subject: One line.
            body: The text.
        """
        done: dict[str, Any] = await ask(
            "POST", "/messages", json={"to": to, "subject": subject, "body": body}
        )
        return done

    # One outside request each, so a proof that it was not carried out proves that nothing happened.
    acts = {"read_only": False, "atomic": True}
    return [
        (refund, {**acts, "identity": ["order_id", "amount_cents"]}),
        (send_message, {**acts, "category": "communicate", "identity": ["to", "subject"]}),
    ]
