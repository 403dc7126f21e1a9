"""The order of the rules, with plain records and no store."""

from dataclasses import replace

from failsoft.ledger.decide import Go, InDoubt, NearDoubt, Replay, Running, decide, lapsed
from failsoft.ledger.records import Doubt, Found, Intent, Record, doubt_id_of
from failsoft.ledger.states import ClaimState

NOW = 1000.0
INTENT = Intent(
    key="k",
    scope="s",
    run_id="r",
    call_id="c",
    tool="pay",
    fingerprint="f",
    near_fingerprint="n",
    arguments_hash="f",
    owner_token="t",
    lease_s=60,
    protected=True,
)
RECORD = Record(
    key="k",
    scope="s",
    run_id="r",
    call_id="c",
    tool="pay",
    tool_version="1",
    fingerprint="f",
    near_fingerprint="n",
    arguments_hash="f",
    arguments="",
    state=ClaimState.RUNNING,
    owner_token="other",
    lease_until=NOW + 10,
    protected=True,
    created_at=NOW,
    started_at=NOW,
)
DOUBT = Doubt(
    id="doubt_1",
    key="k2",
    scope="s",
    run_id="r2",
    call_id="c",
    tool="pay",
    tool_version="1",
    fingerprint="f",
    near_fingerprint="n",
    arguments="",
    since=NOW,
    owner_token="x",
)
SUCCEEDED = replace(RECORD, state=ClaimState.SUCCEEDED, result="1")


def test_nothing_known_goes() -> None:
    """An empty ledger stops nobody."""
    assert decide(Found(), INTENT, NOW) == Go()


def test_running_comes_before_a_doubt_and_a_doubt_before_a_replay() -> None:
    """The order of the rules is the order in which they are written."""
    both = Found(record=RECORD, running=(RECORD,), doubts=(DOUBT,))
    assert decide(both, INTENT, NOW) == Running(record=RECORD, come_back_s=10)
    assert decide(Found(record=SUCCEEDED, doubts=(DOUBT,)), INTENT, NOW) == InDoubt(doubt=DOUBT)
    near = replace(DOUBT, fingerprint="g")
    assert decide(Found(record=SUCCEEDED, doubts=(near,)), INTENT, NOW) == Replay(record=SUCCEEDED)
    assert decide(Found(doubts=(near,)), INTENT, NOW) == NearDoubt(doubt=near)
    assert decide(Found(doubts=(near,), told={near.id}), INTENT, NOW) == Go()


def test_other_runs_are_stopped_by_abandoned_bodies_only() -> None:
    """Two runs may do the same at the same time, but not beside a body whose caller was told that it may have."""
    other = replace(RECORD, key="k2")
    assert decide(Found(running=(other,)), INTENT, NOW) == Go()
    left = replace(other, abandoned=True)
    assert decide(Found(running=(left,)), INTENT, NOW) == Running(record=left, come_back_s=10)


def test_a_lease_ends_with_its_time_or_its_process() -> None:
    """Exactly at the end of the lease, or as soon as the process is known to be gone."""
    found = Found(running=(RECORD,))
    assert lapsed(found, NOW, lambda _: False) == []
    assert lapsed(found, NOW + 10, lambda _: False) == [RECORD]
    assert lapsed(found, NOW, lambda owner: owner == RECORD.owner) == [RECORD]


def test_doubt_ids_are_known_before_there_is_a_doubt() -> None:
    """They follow from the token and do not give it away."""
    assert doubt_id_of("t") == doubt_id_of("t") != doubt_id_of("u")
    assert "secret" not in doubt_id_of("secret")


def test_a_key_from_the_future_is_not_taken_for_fresh() -> None:
    """A clock that was put back does not make an idempotency key live longer than the outside world remembers it."""
    intent = replace(INTENT, idempotency_key="new", key_ttl_s=100)
    for made_at, is_good in ((NOW - 99, True), (NOW - 100, False), (NOW + 59, True), (NOW + 61, False)):
        doubt = replace(DOUBT, idempotency_key="old", key_made_at=made_at)
        verdict = decide(Found(doubts=(doubt,)), intent, NOW)
        assert isinstance(verdict, Go if is_good else InDoubt), made_at
        failed = replace(RECORD, state=ClaimState.FAILED, idempotency_key="old", key_made_at=made_at)
        verdict = decide(Found(record=failed), intent, NOW)
        assert verdict.idempotency_key == ("old" if is_good else "new"), made_at
