"""Reading the raw text: what is accepted, what is refused, and how long it takes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument

ANY = ArgumentReader.for_schema({"type": "object"}, tool_name="any")

ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ('\ufeff{"a": 1}', {"a": 1}),
    ('~~~\n{"a": 1}\n~~~', {"a": 1}),
    ('```json {"a": 1} ```', {"a": 1}),
    ('```{"a": 1}```', {"a": 1}),
    (
        '{"a": 1, // one, it\'s\n "b": [1, 2,], # two\n "c": /* } */ {"d": null,},}',
        {"a": 1, "b": [1, 2], "c": {"d": None}},
    ),
    ("{'a': 'it\\'s \"x\"', 'b': [True, False, None]}", {"a": 'it\'s "x"', "b": [True, False, None]}),
    ('{"a": "x\ty\r\nz",}', {"a": "x\ty\r\nz"}),
    ('{"url": "https://x.test/#a//b", \'c\': 1}', {"url": "https://x.test/#a//b", "c": 1}),
    ('"\\"{\\\\\\"a\\\\\\": 1}\\""', {"a": 1}),
    ('{"a": "\\ud83c\\udf4a",}', {"a": "\U0001f34a"}),
    ('{"a": 123456789012345678901234567890,}', {"a": 123456789012345678901234567890}),
    ('{"a": "```json\\n{}\\n```",}', {"a": "```json\n{}\n```"}),
    ('""', {}),
]

REFUSED = [
    ('{"a": 1} {"a": 1}', "ambiguous", "more than one"),
    ('{"a": 1}, {"a": 2}', "ambiguous", "more than one"),
    ('Sure! {"a": 1}', "bad_json", "other text before"),
    ('{"a": 1} Done.', "bad_json", "other text behind"),
    ('```json\n{"a": 1}\n```\nDone.', "bad_json", "behind the code fence"),
    ('```json\n{"a": 1}', "truncated", "cut off"),
    ("```\n```", "not_an_object", "empty code fence"),
    ('{"a": 1, "a": 2}', "ambiguous", "more than once"),
    ('{"a": {"b": 1, "b": true}}', "ambiguous", "more than once"),
    ('{"a": NaN}', "bad_json", "NaN"),
    ('{"a": -Infinity}', "bad_json", "Infinity"),
    ('{"a": 1e999}', "bad_json", "too large"),
    ('{"a": "\\ud83c"}', "bad_json", "character pair"),
    ('{"a": "\ud83c"}', "bad_json", "character pair"),
    ('{"a": "C:\\new\\q"}', "bad_json", "backslash"),
    ("{'path': 'C:\\new\\table'}", "bad_json", "backslash"),
    ('{"a": "it\\\'s"}', "bad_json", "backslash"),
    ('{"a": 1,, "b": 2}', "bad_json", "key in quotes"),
    ('{"a" 1}', "bad_json", "colon"),
    ('{"a": 1 "b": 2}', "bad_json", "comma"),
    ('{"a": [1, 2}', "bad_json", "does not close"),
    ("{a: 1}", "bad_json", "key in quotes"),
    ('{"a": x}', "bad_json", "double quotes"),
    ('{"a": 01}', "bad_json", "number"),
    ('{"a": 0x1F}', "bad_json", "number"),
    ('{"a": (1, 2)}', "bad_json", "character 6"),
    ('{"a": "x" "y"}', "bad_json", "comma"),
    ('{"a": "\x00",}', "bad_json", "control character"),
    ('{"tags": [\n"a",\n#b",\n"c"]}', "bad_json", "quote"),
    ("{'tags': [\n'a',\n//b',\n'c']}", "bad_json", "quote"),
    ('{"a": "x', "truncated", "cut off"),
    ('{"a": tru', "truncated", "cut off"),
    ('{"a": -', "truncated", "cut off"),
    ('{"a": 1 /* x', "truncated", "cut off"),
    ("true", "not_an_object", "object"),
    ("17", "not_an_object", "object"),
    ('"hello"', "not_an_object", "object"),
    ('[{"a": 1}]', "not_an_object", "a list"),
    ('{"a":' * 101 + "1" + "}" * 101 + ",", "too_deep", "nested"),
    (b'{"a": "\xff"}', "bad_json", "UTF-8"),
    ('{"a": ' + "9" * 5000 + "}", "bad_json", "digits"),
    (" " * (10 * 1024 * 1024 + 1), "too_large", "10,485,760"),
]


@pytest.mark.parametrize(("raw", "values"), ACCEPTED)
def test_text_with_one_meaning_is_read(raw: str, values: dict[str, Any]) -> None:
    """Text with one meaning gives exactly that, as text and as bytes, also when double encoded."""
    for sent in (raw, raw.encode(), json.dumps(raw)):
        parsed = ANY.parse(sent)
        assert json.dumps(parsed.values) == json.dumps(values)
        assert parsed.repairs or raw[0] == "\ufeff"


@pytest.mark.parametrize(("raw", "reason", "words"), REFUSED)
def test_text_without_one_meaning_is_refused(raw: str | bytes, reason: str, words: str) -> None:
    """Every other text is refused with its own reason and message."""
    with pytest.raises(InvalidArgument) as caught:
        ANY.parse(raw)
    assert caught.value.reason == reason
    assert words in caught.value.message
    assert len(caught.value.message) < 500


def test_the_position_is_the_one_in_the_text_as_sent() -> None:
    """Positions count from the first character that was sent, blanks included."""
    with pytest.raises(InvalidArgument) as caught:
        ANY.parse('  {"a": x}')
    assert caught.value.context["position"] == 8


def test_deep_and_endless_mappings_are_refused() -> None:
    """A mapping that is nested too deep, or holds itself, is refused."""
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    endless: dict[str, Any] = {}
    endless["a"] = endless
    for raw in (deep, endless):
        with pytest.raises(InvalidArgument):
            ANY.parse(raw)


@pytest.mark.slow
def test_the_time_grows_with_the_size_and_not_faster() -> None:
    """Ten times the text takes about ten times as long, for what is repaired and for what is refused."""
    shapes = [
        "{'k': 'it\\'s', 'n': [1, None,]}, ",
        "'",
        '"',
        "\\",
        "/*",
        "//\n",
        "[",
        "```",
        "\\u",
        "1e",
        "{'a':",
    ]
    for shape in shapes:
        spent = []
        for size in (50_000, 500_000):
            raw = "{'x': [" + shape * (size // len(shape)) + "]}"
            begin = time.perf_counter()
            try:
                ANY.parse(raw)
            except InvalidArgument:
                pass
            spent.append(time.perf_counter() - begin)
        assert spent[1] < 40 * spent[0] + 0.2, shape
