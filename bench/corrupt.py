"""Spoils good tool calls in the ways that models and gateways do; seeded.

    python -m bench.corrupt CALLS.jsonl OUT.jsonl [--lines 50000] [--seed 1]

`CALLS.jsonl` has lines `{"schema", "intended"}`; the output has lines
`{"schema", "intended", "raw", "truncated", "harmless", "corruption"}`.
`harmless` is true where the text still has one meaning, and false where nothing may run.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import corruptions_harmful, corruptions_harmless  # noqa: F401  # they register themselves
from bench.corruptions import HARMFUL, HARMLESS, Spoiler, Values

__all__ = ["lines_of", "spoiled"]


def lines_of(calls: list[tuple[Values, Values]], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """`count` spoiled calls, harmless and harmful in turn, the corruptions one after another."""
    rng = random.Random(seed)
    names = [list(HARMLESS.items()), list(HARMFUL.items())]
    made = turn = 0
    while made < count:
        kinds = names[turn % 2]
        name, spoiler = kinds[turn // 2 % len(kinds)]
        turn += 1
        schema, values = rng.choice(calls)
        line = spoiled(name, spoiler, rng, schema, values)
        if line is not None:
            made += 1
            yield line


def spoiled(
    name: str, spoiler: Spoiler, rng: random.Random, schema: Values, values: Values
) -> dict[str, Any] | None:
    """One line, or None where the corruption does not apply to the call."""
    found = spoiler(rng, schema, json.loads(json.dumps(values)))
    if found is None:
        return None
    intended, raw, truncated = found
    return {
        "schema": schema,
        "intended": intended,
        "raw": raw,
        "truncated": truncated,
        "harmless": name in HARMLESS,
        "corruption": name,
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("calls", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rows = map(json.loads, args.calls.read_text(encoding="utf-8").splitlines())
    calls = [(row["schema"], row["intended"]) for row in rows]
    with args.out.open("w", encoding="utf-8") as out:
        for line in lines_of(calls, args.lines, args.seed):
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
