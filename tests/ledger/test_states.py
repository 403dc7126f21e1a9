"""The state table and what is drawn from it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failsoft.ledger.states import TRANSITIONS, ClaimState, check, draw

STATES = st.none() | st.sampled_from(ClaimState)


@given(STATES, st.sampled_from(ClaimState))
def test_only_rows_of_the_table_are_allowed(before: ClaimState | None, after: ClaimState) -> None:
    """Any other change of state is refused."""
    allowed = before == after or any((row.before, row.after) == (before, after) for row in TRANSITIONS)
    if allowed:
        check(before, after)
    else:
        with pytest.raises(ValueError, match="cannot go"):
            check(before, after)


def test_every_state_can_be_reached_and_none_is_a_trap() -> None:
    """Each state is entered by some row, and a doubt can end both ways."""
    assert {row.after for row in TRANSITIONS} == set(ClaimState)
    ends = {row.after for row in TRANSITIONS if row.before is ClaimState.IN_DOUBT}
    assert {ClaimState.SUCCEEDED, ClaimState.FAILED} <= ends


def test_a_running_claim_is_never_begun_again() -> None:
    """No row leads from running to running, and none from in doubt to a silent repeat without a key."""
    assert not [
        row for row in TRANSITIONS if (row.before, row.after) == (ClaimState.RUNNING, ClaimState.RUNNING)
    ]
    again = [r for r in TRANSITIONS if (r.before, r.after) == (ClaimState.IN_DOUBT, ClaimState.RUNNING)]
    assert [row.why for row in again] == ["again under the same idempotency key"]


def test_the_documented_diagram_is_the_table() -> None:
    """The page shows what `draw` draws, so that it cannot drift."""
    page = Path(__file__).parents[2] / "docs" / "explanation" / "ledger.md"
    assert draw() in page.read_text(encoding="utf-8")
