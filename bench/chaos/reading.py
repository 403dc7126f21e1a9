"""What an answer says to somebody who has only the answer: its fields where it has some, else words that people know."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Reading", "read"]

# It says in so many words that it may have happened.
_TOLD = re.compile(r"unknown outcome|may (or may not )?have|might have|in doubt", re.IGNORECASE)
# What everybody knows to be ambiguous; a 502 or a crash says nothing of the effect to most readers.
_AMBIGUOUS = re.compile(r"time.?out|timed out|disconnected|reset by peer", re.IGNORECASE)
_UNSENT = re.compile(
    r"refused|\b429\b|too many requests|\b503\b|rate.?limit|not a valid tool|unknown tool|not found in|"
    r"could not parse|validation|invalid (json|argument)|json|expecting",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"\b4(00|01|03|04|09|22)\b")
_MISTAKES = ("invalid_argument", "unknown_tool", "not_found", "conflict")
_AGAIN = re.compile(r"try again|retry", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What an answer says.

    Args:
        says: `done`; `again`, it may be sent once more; `maybe` it happened; `no`, it cannot be done; `unclear`.
        denies: Whether that amounts to "it did not happen".
        is_told: Whether a doubt is said in so many words or fields, and not left to the reader's knowledge.
        doubt: The doubt's id.
        wait_s: How long to wait.
    """

    says: str
    denies: bool = False
    is_told: bool = False
    doubt: str | None = None
    wait_s: float = 2.0


def read(text: str, is_error: bool) -> Reading:
    """What an answer says.

    Args:
        text: As the model reads it.
        is_error: Whether the system calls it an error.
    """
    if not is_error:
        return Reading(says="done")
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if isinstance(fields, dict) and not fields.keys().isdisjoint(("effect", "retry")):
        return _by_fields(fields)
    if _TOLD.search(text):
        return Reading(says="maybe", is_told=True)
    if _AMBIGUOUS.search(text):
        return Reading(says="maybe")
    if _REFUSED.search(text):
        return Reading(says="no", denies=True)
    if _UNSENT.search(text) or _AGAIN.search(text):
        return Reading(says="again", denies=True)
    return Reading(says="unclear")


def _by_fields(fields: dict[str, Any]) -> Reading:
    wait_s = float(fields.get("retry_after_s") or 2.0)
    may_have = fields.get("effect", "none") != "none"
    if fields.get("retry") == "later":
        return Reading(says="again", denies=not may_have, is_told=may_have, wait_s=wait_s)
    if may_have:
        return Reading(says="maybe", is_told=True, doubt=fields.get("doubt"), wait_s=wait_s)
    # "after_fix" for a mistake of the model's: whoever has nothing to mend is told no.
    is_no = fields.get("retry") != "after_fix" or fields.get("error") in _MISTAKES
    return Reading(says="no" if is_no else "again", denies=True)
