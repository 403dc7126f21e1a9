"""The model's view: keys, order, bounds, and what it says about repeating."""

import json

import pytest

from failsoft.core.calls import ToolCall
from failsoft.core.errors import make_error
from failsoft.core.kinds import ErrorKind
from failsoft.feedback import Feedback


@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("style", ["json", "text"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_kind_has_a_view_that_is_never_empty(kind, style, language):
    """Every kind gives a view in every style and language, also when the error has no text."""
    told = Feedback(style=style, language=language).render(make_error(kind))
    assert told.strip()
    assert len(told) <= 1000
    if style == "json":
        view = json.loads(told)
        assert view["error"] == kind
        assert view["message"]
        assert view["suggestion"]


def test_a_possible_effect_is_told_and_repeating_is_not_offered():
    """A charge that may have happened says so, and `retry` is no."""
    call = ToolCall("c1", "charge", {"amount": 5})
    view = json.loads(Feedback().render(make_error("timeout", "No answer in 30 s."), call=call))
    assert view["retry"] == "no"
    assert view["effect"] == "possible"
    assert "may have happened" in view["suggestion"]
