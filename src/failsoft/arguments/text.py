"""From the raw text to a Python value: strict JSON, one fence, double encoding, nearly JSON; or a refusal.

The strict reading is jiter's, which finds doubled keys; what it refuses is read again with more patience.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import jiter

from failsoft.arguments.lenient import has_spoiled_path, to_strict
from failsoft.arguments.refusals import MAX_CHARS, refuse, short
from failsoft.core.calls import Repair

__all__ = ["as_text", "has_huge_number", "join_surrogates", "read_object", "read_value", "strict_value"]

_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<rest>.*)\Z", re.DOTALL)
_LANGUAGE = re.compile(r"[ \t]*[A-Za-z][\w+-]*(?=[\s{\[])|[ \t]*(?=[\r\n{\[])")
# A number with an exponent of three digits or with more than 300 digits may not fit into a float.
# Written so that the search jumps from letter to letter: half the time of a character class.
_LARGE_EXPONENTS = re.compile(r"e(?<=[0-9]e)\+?[0-9]{3}"), re.compile(r"E(?<=[0-9]E)\+?[0-9]{3}")
_MANY_DIGITS = re.compile(r"[0-9]{300}")
_HALF_PAIR = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_BEGINS_VALUE = re.compile(r"\s*(?:[{\[\"'/#0-9-]|(?:true|false|null|True|False|None)\b)")
_ONE_WORD = re.compile(r"[\w.+-]*\Z")
_MAX_LAYERS = 4


def as_text(raw: str | bytes | bytearray) -> str:
    """`raw` as text.

    Raises:
        InvalidArgument: Too large, or bytes that are not UTF-8.
    """
    if len(raw) > MAX_CHARS:
        raise refuse(
            "too_large",
            f"The arguments have {len(raw):,} characters, at most {MAX_CHARS:,} are read",
            size=len(raw),
        )
    if not isinstance(raw, str):
        try:
            raw = bytes(raw).decode("utf-8")
        except UnicodeDecodeError as exc:
            raise refuse(
                "bad_json", f"The arguments are not valid UTF-8 text (byte {exc.start})", position=exc.start
            ) from exc
    return raw


def strict_value(text: str, decimals: bool = False) -> Any:
    """The value of strict JSON without doubled keys, NaN or numbers beyond a float.

    Args:
        text: The whole text.
        decimals: Numbers with a fraction become `Decimal`, so that no digit is lost.

    Raises:
        ValueError: Anything else; which of these is found out by the patient reading.
    """
    value = jiter.from_json(
        text.encode("utf-8"),
        catch_duplicate_keys=True,
        allow_inf_nan=False,
        float_mode="decimal" if decimals else "float",
    )
    if has_huge_number(text):
        raise ValueError("a number may be too large for a float")
    if ":\\" in text and has_spoiled_path(text):
        raise ValueError("a path whose backslashes became line breaks and tabs")
    return value


def has_huge_number(text: str) -> bool:
    """Whether a number in the text may overflow a float; true too often, never too seldom."""
    lower, upper = _LARGE_EXPONENTS
    has_exponent = lower.search(text) is not None or upper.search(text) is not None
    return has_exponent or (len(text) > 300 and _MANY_DIGITS.search(text) is not None)


def read_object(text: str, *, decimals: bool = False) -> tuple[dict[str, Any], list[Repair]]:
    """The one object that the text means, and what was repaired.

    Raises:
        InvalidArgument: Every other text.
    """
    repairs: list[Repair] = []
    for layer in range(_MAX_LAYERS):
        text = text.removeprefix("\ufeff")
        if not text.strip():
            return {}, repairs
        value, found = read_value(text, decimals=decimals)
        repairs += found
        if value is None:
            return {}, repairs
        if isinstance(value, dict):
            return value, repairs
        if not isinstance(value, str):
            break
        if layer == 0:
            repairs.append(Repair(rule="double_encoded", detail="The object was sent as a JSON string."))
        if value.strip()[:1] not in ("", "{", '"', "n", "`", "~", "\ufeff", "/", "#"):
            break
        text = value
    raise refuse("not_an_object", f"The arguments must be a JSON object, but {_name(value)} came")


def read_value(text: str, *, decimals: bool = False) -> tuple[Any, list[Repair]]:
    """The one JSON value that a text means, and what was repaired.

    Raises:
        InvalidArgument: Where there is none, or more than one.
    """
    try:
        return strict_value(text, decimals), []
    except ValueError:
        pass
    repairs: list[Repair] = []
    inside = _unfenced(text.strip())
    if inside is not None:
        repairs.append(Repair(rule="markdown_fence", detail="One surrounding code fence was left out."))
        text = inside
        try:
            return strict_value(text, decimals), repairs
        except ValueError:
            pass
    text = join_surrogates(text)
    strict, found = _strict_text(text)
    value, doubled = _checked_value(strict, decimals)
    if doubled:
        found.append(
            Repair(rule="duplicate_key", detail="A key sent twice with the same value was read once.")
        )
    return value, repairs + found


def _strict_text(text: str) -> tuple[str, list[Repair]]:
    if not _BEGINS_VALUE.match(text) and "{" in text and not _ONE_WORD.match(text):
        raise refuse(
            "bad_json",
            f"The arguments are not JSON alone: there is other text before the object ({short(text.lstrip()[:24], 60)})",
            suggestion="Send the JSON object alone, without any text around it.",
            position=0,
        )
    return to_strict(text)


def _unfenced(text: str) -> str | None:
    """What one fence around the whole text holds; None where there is none."""
    fence = _FENCE.match(text)
    if fence is None:
        return None
    mark, rest = fence["mark"], fence["rest"]
    if not rest.endswith(mark):
        raise refuse(
            "truncated" if mark not in rest else "bad_json",
            "The arguments were cut off: the code fence around them is incomplete"
            if mark not in rest
            else "There is other text behind the code fence",
            suggestion=None
            if mark not in rest
            else "Send the JSON object alone, without any text around it.",
        )
    language = _LANGUAGE.match(rest)
    inside = rest[: -len(mark)][language.end() if language else 0 :].strip()
    if not inside:
        raise refuse("not_an_object", "The arguments must be a JSON object, but an empty code fence came")
    return inside


def join_surrogates(text: str) -> str:
    """The text with half characters joined to whole ones.

    Raises:
        InvalidArgument: Where the other half is missing.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError as exc:
            raise _half_character() from exc
    return text


def _half_character() -> Exception:
    return refuse(
        "bad_json",
        "The arguments hold one half of a character pair (a lone surrogate such as \\ud83c), which is no valid text",
        suggestion="Write the character itself, or both halves of its escape.",
    )


def _checked_value(strict: str, decimals: bool) -> tuple[Any, bool]:
    """The value of strict JSON text, and whether a key was doubled in it with the same value."""
    doubled: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            doubled.append(_same_values(pairs))
        return value

    try:
        value = json.loads(
            strict,
            object_pairs_hook=unique,
            parse_float=_finite_decimal if decimals else _finite,
            parse_constant=_finite,
        )
    except RecursionError as exc:
        raise refuse("too_deep", "The arguments are nested too deep") from exc
    except ValueError as exc:
        # The text is strict by now; what is left is Python's limit of 4,300 digits for an integer.
        raise refuse("bad_json", "A number in the arguments has too many digits") from exc
    if _HALF_PAIR.search(strict):
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
        except UnicodeEncodeError as exc:
            raise _half_character() from exc
    return value, bool(doubled)


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise refuse("bad_json", f"The number {short(text, 40)} is too large, or is no number in JSON")
    return number


def _finite_decimal(text: str) -> Decimal:
    _finite(text)
    return Decimal(text)


def _same_values(pairs: list[tuple[str, Any]]) -> str:
    """The last doubled key; refused where its values differ, also where only their types do."""
    seen: dict[str, str] = {}
    last = ""
    for key, item in pairs:
        text = json.dumps(item, default=str)
        if seen.setdefault(key, text) != text:
            raise refuse(
                "ambiguous",
                f"The key {short(key, 60)} occurs more than once with different values",
                key=key[:200],
            )
        last = key
    return last


def _name(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return f"{'text' if isinstance(value, str) else 'a bare value'} ({short(value, 60)})"
