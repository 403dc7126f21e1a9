"""tests.cases owns the runner of case files: calls that went wrong, and what a correct runtime does with them.

    python -m tests.cases FILE        one JSON line a case on stdout, progress and summary on stderr

A case file holds one JSON object a line: `id`, `category`, `title`, `source`, `input` (with its `op`), `expect`.
"""
