"""When two calls are the same call."""

import enum
import ipaddress
import pathlib
import unicodedata
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.ledger.key import canonical, identity_of, key_of


class Color(enum.Enum):
    RED = "red"


@dataclass
class Line:
    sku: str
    amount: int = 1
    made: float = field(default=0.0, compare=False)


class Order(pydantic.BaseModel):
    line: Line
    note: str | None = None


class Opaque:
    def __init__(self, value: int) -> None:
        self.value = value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (1, 1.0),
        (0.0, -0.0),
        (Decimal("1.50"), 1.5),
        (Decimal("2"), 2),
        (10**20, 1e20),
        ("caf\u00e9", "cafe\u0301"),
        ({"caf\u00e9": 1}, {"cafe\u0301": 1}),
        ((1, 2), [1, 2]),
        ({3, 1, 2}, {2, 3, 1}),
        (Color.RED, "red"),
        (date(2026, 1, 2), "2026-01-02"),
        (
            datetime(2026, 1, 2, 12, tzinfo=UTC),
            datetime(2026, 1, 2, 14, tzinfo=timezone(timedelta(hours=2))),
        ),
        (Line("a"), Line("a", 1, made=5.0)),
        (Order(line=Line("a")), Order(line=Line("a"), note=None)),
        (Order(line=Line("a")), {"line": {"sku": "a"}}),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (pathlib.PurePosixPath("/a"), "/a"),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (Opaque(1), Opaque(1)),
        (timedelta(minutes=1), timedelta(seconds=60)),
    ],
)
def test_what_means_the_same_is_the_same(one: object, other: object) -> None:
    """Order, number forms, Unicode composition, defaults and wrappers make no difference."""
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, "1"),
        (None, "null"),
        (0.1, 0.2),
        (2**53, 2**53 + 1),
        (Decimal("0.1"), Decimal("0.10000000000000000001")),
        ([1, 2], [2, 1]),
        ("a", "A"),
        (b"a", "a"),
        (Line("a"), Line("a", 2)),
        (Order(line=Line("a")), Order(line=Line("a"), note="")),
        (Opaque(1), Opaque(2)),
        (float("inf"), float("-inf")),
        ({"a": None}, {}),
    ],
)
def test_what_differs_stays_apart(one: object, other: object) -> None:
    """Nothing that a tool could tell apart is taken for the same."""
    assert canonical(one) != canonical(other)
    assert identity_of("t", {"x": one}) != identity_of("t", {"x": other})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(min_size=1), JSON, max_size=5), st.randoms())
def test_the_fingerprint_knows_no_order(arguments: dict, random) -> None:
    """Any order of the same arguments, composed or not, has one fingerprint."""
    names = list(arguments)
    random.shuffle(names)
    shuffled = {name: arguments[name] for name in names}
    assert identity_of("t", arguments) == identity_of("t", shuffled)
    decomposed = {
        name: unicodedata.normalize("NFD", v) if isinstance(v, str) else v for name, v in arguments.items()
    }
    assert identity_of("t", arguments) == identity_of("t", decomposed)


@given(JSON, JSON)
def test_canonical_text_and_fingerprint_agree(one: object, other: object) -> None:
    """Two values share the text if, and only if, they share the fingerprint."""
    same_text = canonical(one) == canonical(other)
    assert same_text == (
        identity_of("t", {"x": one}).fingerprint == identity_of("t", {"x": other}).fingerprint
    )


def test_only_named_parameters_count() -> None:
    """`identity` picks, `hidden` drops, a default is left out, True is not the default 1."""
    full = identity_of("t", {"a": 1, "b": 2, "c": 3})
    assert identity_of("t", {"a": 1, "b": 9}, identity=("a",)) == identity_of("t", {"a": 1})
    assert identity_of("t", {"a": 1, "b": 2, "c": 3, "ctx": object()}, hidden=("ctx",)) == full
    assert identity_of("t", {"a": 1, "b": 2.0}, defaults={"b": 2, "z": 0}) == identity_of("t", {"a": 1})
    assert identity_of("t", {"b": True}, defaults={"b": 1}) != identity_of("t", {}, defaults={"b": 1})
    assert identity_of("other", {"a": 1}) != identity_of("t", {"a": 1})


def test_near_fingerprints_ignore_prose_only() -> None:
    """Free text by name or by look; not an id, a number or an address."""

    def near(**arguments: object) -> str:
        return identity_of("send", arguments).near_fingerprint

    assert near(to="bob", text="Hi") == near(to="bob", text="Hello there")
    assert near(to="bob", q="one two three four") == near(to="bob", q="five six seven eight")
    assert near(to="bob", inner={"body": "a"}) == near(to="bob", inner={"body": "b"})
    assert near(to="bob", text="Hi") != near(to="ann", text="Hi")
    assert near(order="17") != near(order="18")
    assert near(amount=17) != near(amount=18)


def test_a_callers_key_decides_alone() -> None:
    """The same key is the same call, whatever the arguments; which ones they were stays known."""
    one, other = identity_of("t", {"a": 1}, key="k"), identity_of("t", {"a": 2}, key="k")
    assert one.fingerprint == other.fingerprint
    assert one.arguments_hash != other.arguments_hash
    assert one.near_fingerprint == ""
    assert one.fingerprint != identity_of("t", {"a": 1}).fingerprint


def test_keys_keep_scopes_runs_tools_and_occurrences_apart() -> None:
    """No two of them share a key, not even where the parts could run together."""
    keys = [
        key_of("s", "r", "t", "f"),
        key_of("s2", "r", "t", "f"),
        key_of("s", "r2", "t", "f"),
        key_of("s", None, "t", "f"),
        key_of("s", "None", "t", "f"),
        key_of("s", "r", "t2", "f"),
        key_of("s", "r", "t", "f", 2),
        key_of("s", "r", "t", "f", key="f"),
        key_of("sr", "", "t", "f"),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of("s", "r", "t", "f", 1, "k") == key_of("s", "r", "t", "g", 2, "k")


def test_fingerprints_do_not_change_between_releases() -> None:
    """What is written today is found tomorrow: change KEY_VERSION together with these."""
    identity = identity_of(
        "pay", {"order": 17, "amount": Decimal("1.5"), "text": "Grüße", "on": date(2026, 1, 2)}
    )
    assert identity.fingerprint == "e918e93fbe552da586916c0e8866155e"
    assert identity.near_fingerprint == "dffdb855c1024de866c119393cf5243b"
    assert key_of("default", "run_1", "pay", identity.fingerprint) == "1:pay:75d9c804ab24a169b2b7770a97b8e9ee"


def test_endless_values_are_refused() -> None:
    """A value that contains itself is an error, not an endless loop."""
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested"):
        canonical(loop)
