"""The reasons of mutants that no test notices: readable, and about files that exist."""

import pytest

from tests.mutation.explain import CLASSES, change_of, function_of, read
from tests.mutation.trial import ROOM, ROOT

DIFF = """\
--- src/failsoft/policies/rate.py
+++ src/failsoft/policies/rate.py
@@ -1,3 +1,3 @@
 def calls(self):
-    return int(self.limit)
+    return int(None)
"""


def test_every_reason_is_about_a_file_and_a_function_that_exist() -> None:
    """No entry is left of a function that was renamed or removed, and each says why."""
    for reason in read():
        source = ROOT / ROOM / f"{reason.file}.py"
        assert source.is_file(), reason
        name = reason.function.rpartition(".")[2]
        if "*" not in name:
            assert f"def {name}(" in source.read_text(encoding="utf-8"), reason
        assert reason.why, reason


def test_a_reason_fits_by_function_and_by_a_part_of_the_change() -> None:
    """An entry without parts fits each change of its function; one with parts, those that contain one."""
    text = """
    [[rate]]
    function = "Rate.*"
    change = ["int(None)", "int(0)"]
    kind = "equal"
    why = "."
    [[rate]]
    function = "Rate.start"
    kind = "speed"
    why = "."
    """
    first, second = read(text)
    change = change_of(DIFF)
    assert change == "- return int(self.limit)\n+ return int(None)"
    assert first.fits("rate", "Rate.calls", change)
    assert not first.fits("rate", "Rate.calls", "+ return 1")
    assert not first.fits("retry", "Rate.calls", change)
    assert not first.fits("rate", "_parse", change)
    assert second.fits("rate", "Rate.start", change)


@pytest.mark.parametrize(
    ("mutant", "function"),
    [
        ("failsoft.policies.rate.xǁRateStateǁ_take__mutmut_12", "RateState._take"),
        ("failsoft.policies.rate.xǁRateǁ__post_init____mutmut_1", "Rate.__post_init__"),
        ("failsoft.policies.rate.x__parse__mutmut_3", "_parse"),
        ("failsoft.policies.output.x_decide__mutmut_3", "decide"),
    ],
)
def test_functions_are_named_as_in_the_source(mutant: str, function: str) -> None:
    """The tool's names become those that a reader would look for."""
    assert function_of(mutant) == function


@pytest.mark.parametrize("lost", ["function", "kind", "why"])
def test_a_reason_that_lacks_something_is_refused(lost: str) -> None:
    """An entry says where, what class and why; the error names the file."""
    row = {"function": "f", "kind": CLASSES[0], "why": "."}
    del row[lost]
    with pytest.raises(ValueError, match="rate"):
        read("[[rate]]\n" + "\n".join(f'{key} = "{value}"' for key, value in row.items()))
    with pytest.raises(ValueError, match="kind"):
        read('[[rate]]\nfunction = "f"\nkind = "lazy"\nwhy = "."')
