"""What several servers say of themselves, as if it were one."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from failsoft.adapters.mcp import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from failsoft.adapters.mcp.wire import Message

__all__ = ["merged_discovery", "merged_handshake", "own_info"]


def own_info(name: str = "failsoft") -> dict[str, Any]:
    """How this program introduces itself."""
    return {"name": name, "version": version("failsoft")}


def merged_handshake(answers: Mapping[str, Message]) -> Message:
    """`result` or `error` for the handshake with all of them: what all can do, at the oldest version among them."""
    results = _results(answers)
    if not results:
        return _no_answer(answers)
    return {
        "result": {
            # Versions are dates: the smallest text is the oldest.
            "protocolVersion": min(str(result.get("protocolVersion")) for result in results.values()),
            "capabilities": _union(result.get("capabilities") for result in results.values()),
            "serverInfo": own_info(),
            **_instructions(results),
        }
    }


def merged_discovery(answers: Mapping[str, Message]) -> Message:
    """The same for `server/discover`: the versions that all of them speak."""
    results = _results(answers)
    if not results:
        return _no_answer(answers)
    first = next(iter(results.values()))
    spoken = [result.get("supportedVersions") or [] for result in results.values()]
    common = [each for each in spoken[0] if all(each in others for others in spoken[1:])]
    return {
        "result": {
            **first,
            "supportedVersions": common,
            "capabilities": _union(result.get("capabilities") for result in results.values()),
            "serverInfo": own_info(),
            **_instructions(results),
        }
    }


def _results(answers: Mapping[str, Message]) -> dict[str, dict[str, Any]]:
    return {
        name: answer["result"] for name, answer in answers.items() if isinstance(answer.get("result"), dict)
    }


def _no_answer(answers: Mapping[str, Message]) -> Message:
    error = next((answer["error"] for answer in answers.values() if "error" in answer), None)
    return {"error": error or {"code": wire.INTERNAL_ERROR, "message": "no server gave an answer"}}


def _union(capabilities: Iterable[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for each in capabilities:
        for name, part in each.items() if isinstance(each, dict) else ():
            known = made.get(name)
            made[name] = {**known, **part} if isinstance(known, dict) and isinstance(part, dict) else part
    return made


def _instructions(results: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    told = [
        f"{name}: {result['instructions']}" for name, result in results.items() if result.get("instructions")
    ]
    return {"instructions": "\n\n".join(told)} if told else {}
