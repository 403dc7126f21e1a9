"""Judges every case and prints the accuracy; each miss is explained, an unexplained one fails the run."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections import Counter

from failsoft.classify import classify
from tests.corpus import families
from tests.corpus.case import Case

__all__ = ["main"]


def cases() -> list[Case]:
    """All cases of all families."""
    found: list[Case] = []
    for one in pkgutil.iter_modules(families.__path__):
        found += importlib.import_module(f"{families.__name__}.{one.name}").CASES
    names = Counter(case.id for case in found)
    assert not (twice := [name for name, count in names.items() if count > 1]), twice
    return found


def _fault(case: Case, exc: BaseException) -> str:
    error = classify(exc, method=case.method)
    wanted = {"kind": case.kind, "retryable": case.retryable, "effect": case.effect}
    wrong = [
        f"{name} {getattr(error, name)!s}, label {value!s}"
        for name, value in wanted.items()
        if getattr(error, name) != value
    ]
    return "; ".join(wrong) + f" ({error.reason}: {error.message})" if wrong else ""


def main(show: bool = False) -> int:
    """Prints the report; 1 when a miss has no explanation."""
    warnings.simplefilter("ignore")
    right, missed, skipped, by_kind = 0, [], [], Counter()
    for case in cases():
        try:
            exc = case.build()
        except (ImportError, AttributeError) as problem:
            skipped.append(f"{case.id}: {problem}")
            continue
        fault = _fault(case, exc)
        by_kind[case.kind] += 1
        if show:
            error = classify(exc, method=case.method)
            print(f"{case.id} | {error.kind} {error.reason} | {error.message}")
        if fault:
            missed.append((case, fault))
        else:
            right += 1
    for case, fault in missed:
        print(
            f"miss   {case.id}: {fault}" + (f"\n       known: {case.known_miss}" if case.known_miss else "")
        )
    for line in skipped:
        print(f"skip   {line}")
    total = right + len(missed)
    print("kinds  " + ", ".join(f"{kind} {count}" for kind, count in sorted(by_kind.items())))
    print(f"corpus {right} of {total} right ({right / total:.1%}), {len(skipped)} skipped")
    return 1 if any(not case.known_miss for case, _ in missed) else 0


if __name__ == "__main__":
    sys.exit(main("--show" in sys.argv))
