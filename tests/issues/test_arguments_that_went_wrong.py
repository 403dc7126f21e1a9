"""Arguments as models and gateways really sent them, retold with data of our own."""

import json

import pytest

from failsoft import Harness
from failsoft.arguments import ArgumentReader
from failsoft.core.errors import InvalidArgument
from failsoft.tools import Tool

TEXT, INT, BOOL = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def shape(required=(), **properties):
    """An object schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


async def send(schema, raw, **options):
    """Call a tool of this schema; its result, and what its body got."""
    ran = []

    def body(**arguments):
        ran.append(arguments)
        return "done"

    tool = Tool.from_schema("report", schema, body, read_only=True)
    async with Harness([tool], store="memory") as harness:
        return await harness.call("report", raw, **options), ran


@pytest.mark.parametrize("marked", [True, False])
async def test_a_text_cut_off_by_the_output_limit_is_not_closed_up(marked):
    """Half a text is never run and never called a missing field (lobehub/lobehub#13817)."""
    raw = '{"title": "Minutes", "text": "Present were Ann, Bob and Ca'
    result, ran = await send(shape(["title", "text"], title=TEXT, text=TEXT), raw, truncated=marked)
    assert ran == []
    assert result.error.reason == "truncated"
    assert "cut off" in result.content
    assert "missing" not in result.content


async def test_a_fence_around_all_of_it_is_taken_off():
    """One Markdown fence around the whole object means nothing (earendil-works/pi#8858)."""
    result, ran = await send(shape(["town"], town=TEXT), '```json\n{"town": "Lyon"}\n```\n')
    assert ran == [{"town": "Lyon"}]
    assert result.repairs


async def test_a_python_dict_is_read_without_touching_its_texts():
    """Quotes, True and None of Python are read, an apostrophe in a text stays (waybarrios/vllm-mlx#63)."""
    schema = shape(["who"], who=TEXT, vip=BOOL, note={"type": ["string", "null"]})
    _, ran = await send(schema, "{'who': \"D'Arcy, True or None\", 'vip': False, 'note': None,}")
    assert ran == [{"who": "D'Arcy, True or None", "vip": False, "note": None}]


async def test_an_object_encoded_twice_is_decoded_twice():
    """A whole object as one JSON string is a slip of a serialiser (guangxiangdebizi/MySQL_MCP#5)."""
    _, ran = await send(
        shape(["shelf"], shelf=TEXT, row=INT), json.dumps(json.dumps({"shelf": "B", "row": 7}))
    )
    assert ran == [{"shelf": "B", "row": 7}]


async def test_the_declared_type_decides_what_a_text_is():
    """A list sent as text is decoded where a list is declared; a code stays a text (PrefectHQ/fastmcp#932)."""
    schema = shape([], ids={"type": "array", "items": INT}, plate=TEXT, doc=TEXT, sure=BOOL)
    _, ran = await send(schema, {"ids": "[4, 5]", "plate": "007", "doc": "[4, 5]", "sure": "false"})
    assert ran == [{"ids": [4, 5], "plate": "007", "doc": "[4, 5]", "sure": False}]


@pytest.mark.parametrize("nothing", ["", "\t\n ", None, "null", "{}"])
async def test_nothing_sent_means_no_arguments(nothing):
    """Five ways to send nothing are an empty object (vllm-project/vllm#19419)."""
    _, ran = await send(shape([], loud=BOOL), nothing)
    assert ran == [{}]


@pytest.mark.parametrize("raw", ["[]", '["a"]', "7", "true"])
async def test_what_is_no_object_is_refused_by_that_name(raw):
    """A list or a number is neither nothing nor a crash (openai/openai-agents-js#664)."""
    result, ran = await send(shape([], loud=BOOL), raw)
    assert ran == []
    assert result.error.kind == "invalid_argument"
    assert "object" in result.content


async def test_unreadable_arguments_never_become_the_defaults():
    """A tool whose parameters all have defaults is not run on what cannot be read (langchain-ai/langchain-litellm#249)."""
    schema = shape([], which={**TEXT, "default": "all"}, age={**INT, "default": 0})
    result, ran = await send(schema, '{"which": old-ones, "age": }')
    assert ran == []
    assert "JSON" in result.content


async def test_null_for_what_may_be_left_out_is_left_out():
    """null is dropped where the schema has no null, and kept where it has (ZenRows/zenrows-mcp#23)."""
    schema = shape(["site"], site=TEXT, via=TEXT, clear={"anyOf": [INT, {"type": "null"}]})
    _, ran = await send(schema, '{"site": "s", "via": null, "clear": null}')
    assert ran == [{"site": "s", "clear": None}]
    result, ran = await send(schema, '{"site": null}')
    assert ran == []
    assert result.error.kind == "invalid_argument"


async def test_an_extra_parameter_is_named_with_those_that_exist():
    """The message names the surplus and what is allowed, in no library's words (ChromeDevTools/chrome-devtools-mcp#1940)."""
    schema = {**shape(["book"], book=TEXT, page=INT), "additionalProperties": False}
    result, ran = await send(schema, '{"book": "Emma", "thought": "first look"}')
    assert ran == []
    assert all(word in result.content for word in ("thought", "book", "page"))
    assert "pydantic" not in result.content


@pytest.mark.parametrize(
    "path", [r"D:\temp\beta\file.md", r"C:\new\rows\bin", r"C:\Users\bob", r"E:\\temp\new"]
)
async def test_a_windows_path_never_gets_control_characters(path):
    """Bare backslashes are all restored or refused, never half of them (openclaw/openclaw#88918)."""
    result, ran = await send(shape(["path"], path=TEXT), f'{{"path": "{path}"}}')
    assert ran in ([], [{"path": path.replace("\\\\", "\\")}])
    assert ran or "backslash" in result.content


@pytest.mark.parametrize(
    "text", ["Q:\nWhat is it?", "a:\n- b\n- c", "C:\\temp\\new", "n: \t1", "http://x/\n"]
)
async def test_a_text_that_only_looks_like_a_path_is_left_alone(text):
    """Line breaks and tabs that were meant stay as they are, beside the case of the spoiled path."""
    _, ran = await send(shape(["text"], text=TEXT), json.dumps({"text": text}))
    assert ran == [{"text": text}]


async def test_the_lenient_way_joins_surrogates_too():
    """A raw line break beside an escaped emoji gives text that UTF-8 can carry (MoonshotAI/kimi-cli#1580)."""
    _, ran = await send(shape(["say"], say=TEXT), '{"say": "one\ntwo \\ud83d\\ude80",}')
    assert ran == [{"say": "one\ntwo \U0001f680"}]
    ran[0]["say"].encode("utf-8")


@pytest.mark.parametrize("whole", ['{"a": {"A:\\u001f": null}}', '{"p": "C:\\\\new", "q": "D:\\nline"}'])
def test_a_cut_off_text_is_cut_off_whatever_its_backslashes_may_mean(whole):
    """An escape behind a letter and a colon is no reason to call the beginning of a valid text invalid."""
    reader = ArgumentReader.for_schema({"type": "object"}, tool_name="t")
    json.loads(whole)
    for end in range(1, len(whole)):
        with pytest.raises(InvalidArgument) as caught:
            reader.parse(whole[:end])
        assert caught.value.reason == "truncated"
