"""The tables themselves: whole, consistent, and without a row that can never be reached."""

from __future__ import annotations

from collections import Counter

import pytest

from failsoft.classify.rules import codes
from failsoft.classify.rules.phrases import _ANSWERS, _TEXTS
from failsoft.classify.rules.row import type_keys
from failsoft.classify.rules.table import ROWS, plan_of
from failsoft.classify.sentences import REASONS
from failsoft.core.kinds import Effect, ErrorKind, Owner

_KINDS = set(ErrorKind)
_JUDGED = [row.judged for row in ROWS if row.judged is not None]
_CODES = [judged for groups in (codes.SPECIFIC, codes.GENERAL) for judged, _ in groups.values()]
_WORDS = [judged for *_, judged in _ANSWERS] + [judged for _, judged in _TEXTS]


def test_every_verdict_is_of_a_known_kind() -> None:
    """Every fixed verdict has a kind of the closed set of defaults."""
    assert {judged.kind for judged in _JUDGED + _CODES + _WORDS} <= _KINDS


def test_every_hidden_reason_has_a_sentence() -> None:
    """A row that does not show the exception's words has a sentence of its own, or that of its kind."""
    bare = (
        {row.judged.reason for row in ROWS if row.judged is not None and row.hidden} - set(REASONS) - _KINDS
    )
    assert bare <= {
        "address_in_use", "invalid_state", "broken_barrier", "client_misuse", "bad_signature", "not_ready_in_time",
        "database_error", "server_error", "constraint_violation", "grpc_unavailable", "queue_empty", "checksum",
        "output_limit", "unreadable_data", "smtp_refused", "data_loss", "no_such_mailbox",
    }  # fmt: skip


def test_no_doubt_about_retryable_rows() -> None:
    """What only a person can change is never retried."""
    assert not [judged for judged in _JUDGED + _CODES if judged.owner == Owner.HUMAN and judged.retryable]


def test_words_prove_nothing() -> None:
    """A verdict from the words of an unknown exception never rules an effect out, but for limits and refusals."""
    sure = {judged.kind for _, judged in _TEXTS if judged.effect is Effect.NONE}
    assert sure <= {ErrorKind.QUOTA_EXHAUSTED, ErrorKind.RATE_LIMITED, ErrorKind.MODEL_ERROR}


def test_codes_mean_one_thing() -> None:
    """No code stands in two groups."""
    for groups in (codes.SPECIFIC, codes.GENERAL):
        count = Counter(
            codes._fold(code) for _, words in groups.values() for code in set(map(codes._fold, words.split()))
        )
        assert [code for code, number in count.items() if number > 1] == []


def test_no_row_stands_behind_a_catch_all() -> None:
    """A row after an unconditional one of the same name could never be reached."""
    closed: set[str] = set()
    hidden = []
    for row in ROWS:
        hidden += [name for name in row.names if name in closed]
        if row.text is None and row.read is None:
            closed |= set(row.names)
    assert hidden == []


@pytest.mark.parametrize(
    ("module", "name", "key"),
    [
        ("builtins", "OSError", "OSError"),
        ("httpx._exceptions", "ReadTimeout", "httpx.ReadTimeout"),
        ("httpx2._exceptions", "ReadTimeout", "httpx.ReadTimeout"),
        ("google.genai.errors", "ClientError", "google.genai.ClientError"),
        ("azure.core.exceptions", "DecodeError", "azure.core.DecodeError"),
        ("psycopg2.errors", "UniqueViolation", "psycopg.UniqueViolation"),
        ("valkey.exceptions", "LockError", "redis.LockError"),
    ],
)
def test_short_names(module: str, name: str, key: str) -> None:
    """A class is known by its library and its name, whatever private module it lives in."""
    assert type_keys(type(name, (Exception,), {"__module__": module}))[0] == key


def test_subclass_of_a_known_type() -> None:
    """A user's subclass of a library's type is judged like it."""
    timeout = type("ReadTimeout", (Exception,), {"__module__": "httpx._exceptions"})
    mine = type("Mine", (timeout,), {"__module__": "mine"})
    assert plan_of(mine).fixed is not None
    assert plan_of(mine).fixed.reason == "read_timeout"
