"""What reading and validating arguments costs, beside pydantic's own `model_validate_json` in the same run.

    python -m bench.arguments [--rounds 9] [--largest 10000000] [--json]

Interleaved rounds; the best of each; ratios to the floor. The aim for valid text is 1.3.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 5_000


class Pair(BaseModel):
    """Two scalars."""

    a: int
    b: str


class Weather(BaseModel):
    """A typical tool."""

    city: str
    day: date
    days: int = 3
    unit: Literal["c", "f"] = "c"


class Item(BaseModel):
    """One line of an order."""

    sku: str
    price: float
    count: int = 1


class Order(BaseModel):
    """A list of models."""

    items: list[Item]
    note: str = ""


class Search(BaseModel):
    """Open content."""

    url: str
    query: dict[str, Any]
    tags: list[str] = []


_ITEMS = [{"sku": f"a{number}", "price": 1.5, "count": number} for number in range(5)]
SAMPLES: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (Pair, {"a": 1, "b": "xyz"}),
    (Weather, {"city": "Beijing", "day": "2024-05-01", "days": 4}),
    (Order, {"items": _ITEMS, "note": "as soon as possible"}),
    (
        Search,
        {"url": "https://example.com/a", "query": {"a": 1, "b": [1, 2, {"c": "x"}]}, "tags": ["a", "b"]},
    ),
]


def timed(work: Callable[[], object], calls: int = CALLS) -> float:
    """Microseconds a call."""
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - begin) / calls * 1e6


def best(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The best of interleaved rounds, for each piece of work."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            found[name] = min(found[name], timed(work))
    return found


def valid(rounds: int) -> list[dict[str, Any]]:
    """Valid text and mappings, per model."""
    rows = []
    for model, values in SAMPLES:
        text = json.dumps(values)
        validator = model.__pydantic_validator__
        read = ArgumentReader.for_model(model, tool_name="t").parse_values
        foreign = ArgumentReader.for_schema(model.model_json_schema(), tool_name="t").parse_values
        found = best(
            {
                "model_validate_json": lambda model=model, text=text: model.model_validate_json(text),
                "text": lambda read=read, text=text: read(text),
                "validate_python": lambda v=validator, values=values: v.validate_python(values).__dict__,
                "mapping": lambda read=read, values=values: read(values),
                "schema text": lambda read=foreign, text=text: read(text),
            },
            rounds,
        )
        found = {name: round(us, 3) for name, us in found.items()}
        ratio = round(found["text"] / found["model_validate_json"], 2)
        rows.append({"model": model.__name__, **found, "text ratio": ratio})
    return rows


def growth(largest: int) -> list[dict[str, Any]]:
    """Repair of growing texts: seconds per megabyte must stay the same."""
    reader = ArgumentReader.for_schema({"type": "object"}, tool_name="t")
    rows = []
    for size in (100_000, 1_000_000, 10_000_000):
        if size > largest:
            break
        item = "{'k': 'it\\'s', 'n': [1, True, None,], 't': \"a\nb\"}, "
        text = "{'items': [" + item * (size // len(item) - 1) + "]}"
        for name, raw in (("python spelling", text), ("broken at its end", text[:-2] + "x")):
            begin = time.perf_counter()
            try:
                reader.parse(raw)
            except InvalidArgument:
                pass
            spent = time.perf_counter() - begin
            rows.append({"text": name, "bytes": len(raw), "s_per_mb": round(spent / len(raw) * 1e6, 3)})
    return rows


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--largest", type=int, default=10_000_000, help="bytes of the longest text to repair")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
    found = {"machine": machine, "valid_us": valid(args.rounds), "growth": growth(args.largest)}
    if args.json:
        print(json.dumps(found, indent=2))
        return
    for row in [*found["valid_us"], *found["growth"]]:  # type: ignore[misc]
        print("  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
