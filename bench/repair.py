"""Reads spoiled tool calls and counts what came of them: recovered exactly, refused, or run with something else.

    python -m bench.repair [FILE.jsonl] [--lines 50000] [--seed 1] [--peers] [--json OUT]

`FILE.jsonl` has lines `{"schema", "intended", "raw", "truncated", "harmless"}`, and `corruption` where known.
`harmless`: true for one meaning, false where nothing may run, null where the intended values or a refusal are right.
Without a file the lines are made by `bench.corrupt` from the ground truth of BFCL.
BFCL is fetched into `.bench/`, for the measurement only; nothing of it is part of the project.
A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from bench.corrupt import lines_of
from bench.fetch import from_pip
from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument

BFCL = ("bfcl-eval==2026.3.23",)
NOTE = (
    "Ground-truth calls of BFCL, spoiled in the ways of `bench/corruptions_harmless.py` and `bench/corruptions_harmful.py`. "
    "The ways are this project's own, so that its share shows that it keeps to its rules, and not how often models err. "
    "A refusal is right where a text has no single meaning. Each peer is followed by lax validation, as its users have it."
)
REFUSED = object()
Reading = Callable[[dict[str, Any], str, bool], Any]
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None, "": None}


def bfcl_calls() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Schema and ground-truth arguments of every BFCL call whose arguments fit its schema."""
    data = from_pip("bfcl", BFCL) / "bfcl_eval" / "data"
    calls = []
    for answers in sorted((data / "possible_answer").glob("BFCL_v4_*.json")):
        if not (data / answers.name).exists() or "multi_turn" in answers.name or "java" in answers.name:
            continue
        truths = {row["id"]: row["ground_truth"] for row in _rows(answers)}
        for row in _rows(data / answers.name):
            functions = {f["name"]: _standard(f["parameters"]) for f in row.get("function") or ()}
            for truth in truths.get(row["id"], ()):
                for name, arguments in truth.items() if isinstance(truth, dict) else ():
                    if name in functions:
                        calls.append((functions[name], _first(arguments, functions[name])))
    return [(schema, values) for schema, values in calls if _fits(schema, values)]


def _rows(path: Path) -> Iterator[Any]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _standard(schema: Any, *, is_root: bool = True) -> Any:
    """A BFCL parameter description as JSON Schema."""
    if isinstance(schema, list):
        return [_standard(item, is_root=False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: _standard(item, is_root=False)
        for key, item in schema.items()
        if key not in ("default", "format")
    }
    kind = found.get("type")
    if isinstance(kind, str):
        found["type"] = _TYPES.get(kind, kind)
        if found["type"] is None:
            del found["type"]
    return {**found, "additionalProperties": False} if is_root else found


def _first(value: Any, schema: Any) -> Any:
    """The first accepted value of a ground truth, which lists several at every depth."""
    chosen = {}
    for name, accepted in value.items():
        first = (
            next((item for item in accepted if item != ""), "") if isinstance(accepted, list) else accepted
        )
        sub = (schema.get("properties") or {}).get(name, {})
        if first == "" and name not in (schema.get("required") or ()):
            continue
        if isinstance(first, dict) and sub.get("properties"):
            first = _first(first, sub)
        if sub.get("type") == "number" and isinstance(first, int):
            first = float(first) if abs(first) < 2**50 else first
        chosen[name] = first
    return chosen


def _fits(schema: dict[str, Any], values: dict[str, Any]) -> bool:
    try:
        exact = json.loads(json.dumps(values)) == values
        return exact and jsonschema_rs.validator_for(schema, offline=True).is_valid(values)
    except ValueError:
        return False


_readers: dict[str, ArgumentReader] = {}


def by_failsoft(schema: dict[str, Any], raw: str, truncated: bool) -> Any:
    """This project's own reading."""
    key = json.dumps(schema)
    reader = _readers.get(key) or _readers.setdefault(key, ArgumentReader.for_schema(schema, tool_name="t"))
    try:
        return reader.parse(raw, truncated=truncated).values
    except InvalidArgument:
        return REFUSED


def peers() -> dict[str, Reading]:
    """The other readings that are installed, each followed by lax validation as its users have it."""
    found: dict[str, Callable[[str], Any]] = {}
    with contextlib.suppress(ImportError):
        import json_repair

        found["json-repair"] = lambda raw: json_repair.loads(raw)
    with contextlib.suppress(ImportError):
        from langchain_core.output_parsers.openai_tools import parse_tool_call

        found["langchain"] = lambda raw: parse_tool_call(
            {"function": {"name": "t", "arguments": raw}, "id": "1"}
        )["args"]
    with contextlib.suppress(ImportError):
        # What pydantic-ai reads a call's arguments with.
        from pydantic_core import from_json

        found["pydantic-ai"] = lambda raw: from_json(raw or "{}")
    return {name: _validated(reading) for name, reading in found.items()}


def _validated(reading: Callable[[str], Any]) -> Reading:
    from pydantic import BaseModel, ConfigDict, create_model

    models: dict[str, type[BaseModel]] = {}
    plain = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}

    def model_of(schema: dict[str, Any]) -> type[BaseModel]:
        fields: dict[str, Any] = {}
        for name, sub in schema["properties"].items():
            kind = plain.get(sub.get("type"), Any)
            fields[name] = (kind, ...) if name in (schema.get("required") or ()) else (kind, None)
        return create_model(
            "Arguments", __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields
        )

    def read(schema: dict[str, Any], raw: str, truncated: bool) -> Any:
        key = json.dumps(schema)
        model = models.get(key) or models.setdefault(key, model_of(schema))
        try:
            return model.model_validate(reading(raw)).model_dump(exclude_unset=True)
        except Exception:
            return REFUSED

    return read


def judged(line: dict[str, Any], value: Any) -> str:
    """`recovered`, `refused` or `wrong`; a run where nothing may run is wrong whatever the values."""
    if value is REFUSED:
        return "refused"
    is_same = json.dumps(value, sort_keys=True) == json.dumps(line["intended"], sort_keys=True)
    return "recovered" if is_same and line["harmless"] is not False else "wrong"


def measure(lines: Iterable[dict[str, Any]], readings: dict[str, Reading]) -> dict[str, Any]:
    """Counts per reading and corruption, and the first wrong lines of each reading."""
    counts: dict[str, collections.Counter[tuple[str, Any, str]]] = {
        n: collections.Counter() for n in readings
    }
    wrong: dict[str, list[dict[str, Any]]] = {name: [] for name in readings}
    spent = dict.fromkeys(readings, 0.0)
    for line in lines:
        for name, reading in readings.items():
            begin = time.perf_counter()
            value = reading(line["schema"], line["raw"], bool(line.get("truncated")))
            spent[name] += time.perf_counter() - begin
            verdict = judged(line, value)
            counts[name][(line.get("corruption", "?"), line["harmless"], verdict)] += 1
            if verdict == "wrong" and len(wrong[name]) < 5:
                wrong[name].append({**line, "ran_with": value})
    return {"counts": counts, "wrong": wrong, "spent": spent}


def report(found: dict[str, Any]) -> bool:
    """Print the tables; true when failsoft met its aims."""
    counts, names = found["counts"], list(found["counts"])
    kinds = sorted({(harmless is False, kind, harmless) for c in counts.values() for kind, harmless, _ in c})
    print(f"{'corruption':28} {'harmless':8} " + " ".join(f"{name:>22}" for name in names))
    print(f"{'':37} " + " ".join(f"{'recovered/refused/wrong':>22}" for _ in names))
    for _, kind, harmless in kinds:
        cells = [
            "/".join(str(counts[n][(kind, harmless, v)]) for v in ("recovered", "refused", "wrong"))
            for n in names
        ]
        print(f"{kind:28} {harmless!s:8} " + " ".join(f"{cell:>22}" for cell in cells))
    is_met = True
    for name in names:
        total = collections.Counter[str]()
        for (_, harmless, verdict), count in counts[name].items():
            total[verdict] += count
            total[f"harmless {verdict}"] += count if harmless else 0
        harmless = sum(count for key, count in total.items() if key.startswith("harmless"))
        lines = total["recovered"] + total["refused"] + total["wrong"]
        share = total["harmless recovered"] / harmless if harmless else 1.0
        each = found["spent"][name] / max(lines, 1) * 1e6
        print(
            f"{name}: {lines} lines, wrong {total['wrong']}, harmless recovered {share:.2%}, {each:.0f} µs a line"
        )
        if name == "failsoft":
            is_met = total["wrong"] == 0 and share >= 0.99
    for line in found["wrong"]["failsoft"]:
        print("wrong:", json.dumps(line, default=str)[:600])
    return is_met


def summary(found: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each reading: what it did with lines of one meaning, and how often it ran with something else."""
    rows = []
    for name, counter in found["counts"].items():
        total, harmless, recovered, wrong = sum(counter.values()), 0, 0, 0
        for (_, is_harmless, verdict), count in counter.items():
            harmless += count if is_harmless else 0
            recovered += count if is_harmless and verdict == "recovered" else 0
            wrong += count if verdict == "wrong" else 0
        rows.append(
            {
                "reading": name,
                "lines": total,
                "recovered_percent": recovered / max(harmless, 1) * 100,
                "wrong_per_1000": wrong / max(total, 1) * 1000,
                "us": found["spent"][name] / max(total, 1) * 1e6,
            }
        )
    return rows


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    lines = _rows(args.file) if args.file else lines_of(bfcl_calls(), args.lines, args.seed)
    readings: dict[str, Reading] = {"failsoft": by_failsoft, **(peers() if args.peers else {})}
    found = measure(lines, readings)
    is_met = report(found)
    if args.json:
        stored = {"rows": summary(found), "notes": [NOTE]}
        args.json.write_text(json.dumps(stored, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
