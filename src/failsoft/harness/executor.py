"""One call, from top to bottom: admit, claim, guard( invoke ), report.

    ToolCall ─ admit ─ claim ─ guard( invoke ) ─ report ─ ToolResult

Each step is the file of the same name. Nothing here raises for what a tool, a model or the world did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from failsoft.core.context import current_call
from failsoft.core.errors import AgentError
from failsoft.harness.admit import admit, ask_approval
from failsoft.harness.claim import KnownAnswer, claim
from failsoft.harness.guard import guard, guard_with_fallback
from failsoft.harness.report import (
    report_cancelled,
    report_failure,
    report_passed,
    report_plainly,
    report_success,
    report_surprise,
)

if TYPE_CHECKING:
    from failsoft.core.results import ToolResult
    from failsoft.harness.live import LiveCall

__all__ = ["execute"]


async def execute(call: LiveCall) -> ToolResult:
    """Run one call and return its one result.

    Raises:
        BaseException: The caller's own cancellation, KeyboardInterrupt, SystemExit, and exceptions of the types named
            in `passthrough`; the call is settled before they go on.
        UsageError: Misuse of the API.
    """
    outer = current_call.get()
    token = current_call.set(call)
    try:
        plan = admit(call, outer)
        if plan.is_simple:  # nothing to ask, to remember or to fall back on
            return report_plainly(call, await guard(call))
        if plan.asks:
            await ask_approval(call)
        if plan.claims:
            known = await claim(call)
            if known is not None:
                return known
        return await report_success(call, await guard_with_fallback(call))
    except AgentError as error:
        return await report_failure(call, error)
    except KnownAnswer as answer:
        return answer.result
    except call.shared.raised as exc:
        await report_passed(call, exc)
        raise
    except Exception as exc:
        return await report_surprise(call, exc)
    except BaseException as exc:
        await report_cancelled(call, exc)
        raise
    finally:
        try:
            current_call.reset(token)
        except ValueError:
            # Closed from another context, as when a generator is collected: the value went with the context it was in,
            # and raising here would hide the exception that is on its way.
            pass
