"""The order desk's world: a database of orders and refunds, and an outbox of messages. The proof is read from here."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Effects", "World"]

_SCHEMA = """
CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT, email TEXT, item TEXT, amount_cents INTEGER, placed TEXT);
CREATE TABLE refunds (id INTEGER PRIMARY KEY, order_id TEXT, amount_cents INTEGER, reason TEXT);
CREATE TABLE catalogue (sku TEXT PRIMARY KEY, title TEXT, price_cents INTEGER, in_stock INTEGER);
"""
_ORDERS = [
    ("1042", "Dana Brook", "dana@shop.example", "Blue teapot", 2950, "2026-11-02"),
    ("1043", "Ivo Lind", "ivo@shop.example", "Reading lamp", 4800, "2026-11-05"),
    ("1044", "Mei Tan", "mei@shop.example", "Oak tray", 3600, "2026-11-09"),
    ("1045", "Dana Brook", "dana@shop.example", "Linen towel", 1200, "2026-11-11"),
]
_CATALOGUE = [
    ("TP-1", "Blue teapot", 2950, 4),
    ("TP-2", "Green teapot", 3150, 0),
    ("LA-1", "Reading lamp", 4800, 11),
    ("TR-1", "Oak tray", 3600, 2),
    ("TO-1", "Linen towel", 1200, 40),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What has really happened.

    Args:
        refunds: Order and cents of each refund, in order.
        messages: Recipient and subject of each message, in order.
    """

    refunds: tuple[tuple[str, int], ...]
    messages: tuple[tuple[str, str], ...]


class World:
    """The state behind the services; safe for threads.

    Args:
        folder: An empty folder to live in.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outbox = folder / "outbox"
        self.outbox.mkdir(parents=True)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(folder / "desk.db", check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.executescript(_SCHEMA)
        self._database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", _ORDERS)
        self._database.executemany("INSERT INTO catalogue VALUES (?, ?, ?, ?)", _CATALOGUE)
        self._database.commit()

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self._database.execute(query, values)]

    def order(self, order_id: str) -> dict[str, Any] | None:
        """One order."""
        rows = self._rows("SELECT * FROM orders WHERE id = ?", order_id)
        return rows[0] if rows else None

    def search(self, words: str) -> list[dict[str, Any]]:
        """Items of the catalogue whose title has every one of the words."""
        rows = self._rows("SELECT * FROM catalogue ORDER BY sku")
        return [row for row in rows if all(word in row["title"].lower() for word in words.lower().split())]

    def refunds(self, order_id: str) -> list[dict[str, Any]]:
        """The refunds of an order."""
        return self._rows("SELECT * FROM refunds WHERE order_id = ? ORDER BY id", order_id)

    def add_refund(self, order_id: str, amount_cents: int, reason: str) -> int:
        """Refund; gives the refund's number. Does it every time that it is asked: not repeating is the caller's part."""
        with self._lock:
            row = self._database.execute(
                "INSERT INTO refunds (order_id, amount_cents, reason) VALUES (?, ?, ?)",
                (order_id, amount_cents, reason),
            )
            self._database.commit()
            return int(row.lastrowid or 0)

    def add_message(self, to: str, subject: str, body: str) -> str:
        """Put a message into the outbox, as a mail server would; gives its file's name."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "desk@shop.example", to, subject
        message.set_content(body)
        with self._lock:
            name = f"{len(list(self.outbox.iterdir())) + 1:04d}.eml"
            (self.outbox / name).write_bytes(bytes(message))
        return name

    def messages(self) -> list[dict[str, str]]:
        """The outbox, in order."""
        found = []
        for file in sorted(self.outbox.iterdir()):
            message = BytesParser(policy=policy.default).parsebytes(file.read_bytes())
            found.append({"to": str(message["To"]), "subject": str(message["Subject"])})
        return found

    def effects(self) -> Effects:
        """What has really happened, read from the database and the outbox."""
        refunds = self._rows("SELECT order_id, amount_cents FROM refunds ORDER BY id")
        return Effects(
            refunds=tuple((row["order_id"], row["amount_cents"]) for row in refunds),
            messages=tuple((message["to"], message["subject"]) for message in self.messages()),
        )

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()
