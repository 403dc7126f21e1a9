"""pydantic-ai: a FunctionToolset with retries, its HTTP requests retried by tenacity, failures told as ModelRetry.

As ai.pydantic.dev, "HTTP Request Retries": five attempts, `wait_retry_after` before an exponential wait, for 429, 502,
503, 504 and connection errors. "Advanced Tool Features", "Tool Execution and Retries": what is still failing is told by
`ModelRetry`, what the service refuses by `ToolFailed`; a tool may be retried twice, and has a time-out.
Tools from a JSON Schema are not validated, as "Custom Tool Schema" says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import tenacity
from pydantic_ai import ModelRetry, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.retries import wait_retry_after
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

from bench.chaos.systems._common import TIMEOUT_S

if TYPE_CHECKING:
    from bench.chaos.systems import Call, WorldTool
    from failsoft.testing.clock import VirtualClock

TITLE = "pydantic-ai, toolset with retries"
PACKAGES = ("pydantic-ai-slim", "tenacity")
RETRIES = 2


def _is_transient(exc: BaseException) -> bool:
    if isinstance(exc, httpx.HTTPStatusError):
        return exc.response.status_code in (429, 502, 503, 504)
    return isinstance(exc, httpx.ConnectError | ConnectionError)


def _body(fn: Any) -> Any:
    request = tenacity.retry(
        retry=tenacity.retry_if_exception(_is_transient),
        wait=wait_retry_after(tenacity.wait_exponential(multiplier=1, max=60), max_wait=300),
        stop=tenacity.stop_after_attempt(5),
        reraise=True,
    )(fn)

    async def run(**arguments: Any) -> str:
        try:
            return str(await request(**arguments))
        except httpx.HTTPStatusError as exc:
            if exc.response.is_client_error and exc.response.status_code != 429:
                raise ToolFailed(f"{exc}: {exc.response.text}") from exc
            raise ModelRetry(str(exc)) from exc
        except httpx.TransportError as exc:
            raise ModelRetry(f"{type(exc).__name__}: {exc}") from exc

    return run


def prepare(tools: list[WorldTool]) -> FunctionToolset[None]:
    """The toolset; it keeps nothing between runs."""
    made = [Tool.from_schema(_body(each.fn), each.name, each.description, each.schema) for each in tools]
    return FunctionToolset(made, max_retries=RETRIES, timeout=TIMEOUT_S)


async def build(toolset: FunctionToolset[None], clock: VirtualClock) -> Call:
    """The part of a run that answers calls; each call is a step of the run, as from a model that makes one a turn."""
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=0)
    manager = ToolManager(toolset, default_max_retries=RETRIES)
    step = 0

    async def call(name: str, arguments: str) -> tuple[str, bool]:
        nonlocal manager, step
        step += 1
        manager = await manager.for_run_step(replace(context, run_step=step))
        try:
            answer = await manager.handle_call(ToolCallPart(name, arguments, tool_call_id=f"c{step}"))
        except ToolRetryError as exc:
            return _said(exc.tool_retry), True
        except ToolFailedError as exc:
            return _said(exc.tool_failed), True
        except Exception as exc:
            return f"Error: {exc!r}", True
        return str(answer), False

    return call


def _said(part: Any) -> str:
    return str(part.model_response_str() if hasattr(part, "model_response_str") else part.model_response())
