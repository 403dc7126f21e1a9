"""The public cases of arguments that went wrong in the wild."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


TEXT = {"type": "string"}
INT = {"type": "integer"}
BOOL = {"type": "boolean"}
PING = _object([], verbose=BOOL)

RECOVERED = [
    pytest.param(
        _object(["city"], city=TEXT), '```json\n{"city": "Lima"}\n```', {"city": "Lima"}, id="fence"
    ),
    pytest.param(
        _object(["title"], title=TEXT, urgent=BOOL, due={"type": ["string", "null"]}),
        "{'title': \"Call O'Neil\", 'urgent': True, 'due': None,}",
        {"title": "Call O'Neil", "urgent": True, "due": None},
        id="python",
    ),
    pytest.param(
        _object(["host"], host=TEXT, port=INT),
        '"{\\"host\\": \\"db.example\\", \\"port\\": 3306}"',
        {"host": "db.example", "port": 3306},
        id="double-encoded",
    ),
    pytest.param(
        _object(
            ["tags", "meta", "body", "code"],
            tags={"type": "array", "items": INT},
            meta={"type": "object"},
            body=TEXT,
            code=TEXT,
            done=BOOL,
        ),
        '{"tags": "[1, 2]", "meta": "{\\"a\\": 1}", "body": "{\\"k\\": 5}", "code": "01234", "done": "true"}',
        {"tags": [1, 2], "meta": {"a": 1}, "body": '{"k": 5}', "code": "01234", "done": True},
        id="containers-as-text",
    ),
    pytest.param(PING, "", {}, id="empty"),
    pytest.param(PING, "  \n", {}, id="blank"),
    pytest.param(PING, None, {}, id="none"),
    pytest.param(PING, "null", {}, id="null"),
    pytest.param(
        _object(["url"], url=TEXT, proxy=TEXT, wait_ms=INT, note={"anyOf": [TEXT, {"type": "null"}]}),
        '{"url": "https://shop.example/", "proxy": null, "wait_ms": null, "note": null}',
        {"url": "https://shop.example/", "note": None},
        id="null-for-optional",
    ),
    pytest.param(
        _object(["text"], text=TEXT),
        '{"text": "first line\nsecond line \\ud83c\\udf4a",}',
        {"text": "first line\nsecond line \U0001f34a"},
        id="raw-newline-and-pair",
    ),
]

REFUSED = [
    pytest.param(PING, "[1, 2]", "not_an_object", "object", id="list"),
    pytest.param(
        _object(["path", "content"], path=TEXT, content=TEXT),
        '{"path": "plan.md", "content": "# Plan\\n1. Buy\\n2. Bui',
        "truncated",
        "cut off",
        id="cut-off",
    ),
    pytest.param(
        _object([], scope={**TEXT, "default": "everything"}, days={**INT, "default": 0}),
        '{"scope": tmp-files, "days": }',
        "bad_json",
        "character 10",
        id="unreadable",
    ),
    pytest.param(
        {**_object(["url"], url=TEXT, timeout=INT), "additionalProperties": False},
        '{"url": "https://shop.example/", "explanation": "look at the shop"}',
        "unknown_field",
        "explanation is not a parameter (expected only these names: url, timeout",
        id="unknown-field",
    ),
    pytest.param(
        _object(["path"], path=TEXT),
        '{"path": "C:\\Users\\bob\\tmp\\new.txt"}',
        "bad_json",
        "backslash",
        id="windows-path",
    ),
]


@pytest.mark.parametrize(("schema", "raw", "values"), RECOVERED)
def test_one_meaning_is_recovered(schema: dict[str, Any], raw: str | None, values: dict[str, Any]) -> None:
    """Text with one meaning gives exactly the intended values, each repair recorded."""
    parsed = ArgumentReader.for_schema(schema, tool_name="t").parse(raw)
    assert parsed.values == values
    assert bool(parsed.repairs) == bool(raw and raw.strip() not in ("", "null"))


@pytest.mark.parametrize(("schema", "raw", "reason", "words"), REFUSED)
def test_everything_else_is_refused_with_its_reason(
    schema: dict[str, Any], raw: str, reason: str, words: str
) -> None:
    """Text without one meaning is refused in words that say what to change and that nothing was run."""
    with pytest.raises(InvalidArgument) as caught:
        ArgumentReader.for_schema(schema, tool_name="t").parse(raw)
    assert caught.value.reason == reason
    assert words in caught.value.message
    assert "nothing was run" in caught.value.message


def test_a_call_that_the_limit_cut_off_is_refused_even_where_it_reads_well() -> None:
    """`truncated=True` is always refused: a client may have closed the brackets itself."""
    reader = ArgumentReader.for_schema(PING, tool_name="t")
    for raw in ("{}", {}, None, '{"verbose": true'):
        with pytest.raises(InvalidArgument) as caught:
            reader.parse(raw, truncated=True)
        assert caught.value.reason == "truncated"
        assert "cut off" in caught.value.message


def test_large_broken_arguments_give_a_small_message() -> None:
    """A megabyte of broken arguments is refused within two thousand characters."""
    with pytest.raises(InvalidArgument) as caught:
        ArgumentReader.for_schema(PING, tool_name="t").parse('{"a": x' * 300_000)
    assert len(str(caught.value)) + len(str(caught.value.context)) < 2000
