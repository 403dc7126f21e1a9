"""harness owns the main path: admit, claim, guard(invoke), report. Read `executor.py` first."""
