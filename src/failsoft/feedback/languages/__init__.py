"""languages owns the sentences, one file a language; a sentence that is missing in one is a failing test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Language", "get_language"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The sentences of one language.

    Args:
        titles: Kind to one sentence that says what happened; used where an error has no message.
        advice: Kind, or `kind/reason`, to what can be done.
        effects: What may have happened, by the words of `failsoft.feedback.suggest`.
        phrases: Everything else; a phrase that counts has two forms, for one and for more.
        title_first: Whether the title goes before a message, because that may be in another language.
        separator: What stands between the things of a list.
        join: What stands between two sentences.
    """

    titles: Mapping[str, str]
    advice: Mapping[str, str]
    effects: Mapping[str, str]
    phrases: Mapping[str, tuple[str, str]]
    title_first: bool
    separator: str
    join: str

    def say(self, phrase: str, n: float = 1, **values: object) -> str:
        """A phrase in the form that fits `n`."""
        one, more = self.phrases[phrase]
        return (one if n == 1 else more).format(n=f"{n:g}", **values)


def get_language(code: str) -> Language:
    """The language of a code.

    Raises:
        KeyError: If there is no such language.
    """
    from failsoft.feedback.languages import en, zh

    return {"en": en.ENGLISH, "zh": zh.CHINESE}[code]
