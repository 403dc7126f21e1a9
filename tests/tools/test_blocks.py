"""Images, documents and text side by side: whole or described, never cut."""

import base64
import json
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, TextContent

from failsoft.tools.render import render_value

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def shown(value: Any, **options: Any) -> Any:
    """The content alone."""
    return render_value(value, **options).content


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
}


@pytest.mark.parametrize(
    "value",
    [
        PNG,
        IMAGE,
        [IMAGE],
        {"type": "image", "mimeType": "image/png", "data": IMAGE["source"]["data"]},  # type: ignore[index]
        {"type": "image", "mimeType": "image/jpeg", "data": IMAGE["source"]["data"]},  # type: ignore[index]
        {
            "content": [{"type": "image", "mimeType": "image/png", "data": IMAGE["source"]["data"]}],
            "isError": False,
        },  # type: ignore[index]
        ImageContent(type="image", data=IMAGE["source"]["data"], mimeType="image/png"),  # type: ignore[index]
        CallToolResult(
            content=[ImageContent(type="image", data=IMAGE["source"]["data"], mimeType="image/png")]
        ),  # type: ignore[index]
    ],
    ids=lambda item: type(item).__name__,
)
def test_images_become_blocks(value: Any) -> None:
    """Bytes, Anthropic's and MCP's blocks are one neutral block, with the type that the bytes really have."""
    assert shown(value) == [IMAGE]


def test_texts_and_images_share_one_result() -> None:
    """A list of texts and images stays one; only its text counts against the limit, and no image is ever cut."""
    assert shown(["A chart:", PNG]) == [{"type": "text", "text": "A chart:"}, IMAGE]
    made = render_value(["x" * 20_000, PNG, "y"], max_chars=1_000)
    assert isinstance(made.content, list)
    assert len(made.content[0]["text"]) <= 1_000
    assert made.content[1] == IMAGE
    assert made.full == "x" * 20_000 + "\ny"
    big = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo" * 30_000}
    [block] = shown({"content": [big]}, max_chars=20_000)
    assert block["source"]["data"] == big["data"]


def test_base64_inside_of_data_is_described_before_anything_is_cut() -> None:
    """A picture in the middle of ordinary data does not push out the data around it."""
    data = {
        "before": 1,
        "shot": {"png": "iVBORw0KGgo" * 9_000, "url": "data:image/png;base64," + "A" * 9_000},
        "after": 2,
    }
    made = render_value(data, max_chars=2_000)
    assert made == render_value(
        {
            "before": 1,
            "shot": {
                "png": "(99000 characters of base64, not shown)",
                "url": "(9022 characters of base64, not shown)",
            },
            "after": 2,
        }
    )
    small = {"icon": "iVBORw0KGgo" * 50}
    assert shown(small) == json.dumps(small), "what fits is left alone"


def test_openai_blocks_and_data_urls() -> None:
    """OpenAI's shapes are understood too; a text that is one long data URL becomes the image it is."""
    url = f"data:image/png;base64,{IMAGE['source']['data']}"  # type: ignore[index]
    for block in (
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_image", "image_url": url},
    ):
        assert shown([{"type": "input_text", "text": "see"}, block]) == [
            {"type": "text", "text": "see"},
            IMAGE,
        ]
    assert shown({"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}) == [
        {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}}
    ]
    assert shown(url) == url
    assert shown(url, max_chars=20) == [IMAGE]
    assert "left out" in shown("data:application/zip;base64," + "A" * 100, max_chars=90)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "not base64!"}, "damaged"),
        ({"type": "image", "mimeType": "image/png", "data": "A" * 6_000_000}, "larger than"),
        ({"type": "image", "mimeType": "image/tiff", "data": "aGVsbG8gd29ybGQ="}, "image/tiff"),
        (PNG + b"\0" * 4_000_000, "larger than"),
        (
            {"type": "resource", "resource": {"uri": "x", "blob": "aGk=", "mimeType": "application/zip"}},
            "cannot read",
        ),
    ],
)
def test_what_a_provider_would_refuse_is_described(value: Any, words: str) -> None:
    """One refused block would poison the whole conversation, so it is named instead."""
    text = shown(value)
    assert isinstance(text, str)
    assert "left out" in text
    assert words in text
    assert len(text) < 200


def test_mcp_text_is_text() -> None:
    """Blocks of nothing but text are one text; structured data beside no content is shown as data."""
    result = CallToolResult(content=[TextContent(type="text", text="a"), TextContent(type="text", text="b")])
    assert shown(result) == "a\nb"
    assert shown([{"type": "text", "text": "a"}]) == "a"
    assert shown({"content": [], "isError": False}) == '{"content": [], "isError": false}'
    assert shown([{"type": "resource", "resource": {"uri": "f:x", "text": "inside"}}]) == "inside"
    assert (
        shown([{"type": "resource_link", "uri": "https://a.example/x", "name": "x"}])
        == "[x: https://a.example/x]"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "text": "a"},
        {"type": "image"},
        {"content": "just a field", "isError": False},
        {"content": [1, 2]},
        {"content": [{"type": "text", "text": "a"}], "author": "somebody"},
        [{"type": "text", "text": "a"}, 3],
        ["a", "b"],
        [b"bytes", "text"],
    ],
)
def test_ordinary_data_that_looks_like_blocks_stays_data(value: Any) -> None:
    """Only what is certainly content is taken as such; data of one's own stays what it is."""
    text = shown(value)
    assert isinstance(text, str)
    assert text[0] in "{["


def test_what_draws_itself_is_an_image() -> None:
    """Pictures of PIL and figures of matplotlib give their PNG by the notebooks' protocol."""

    class Picture:
        def _repr_png_(self) -> bytes:
            return PNG

    assert shown(Picture()) == [IMAGE]
