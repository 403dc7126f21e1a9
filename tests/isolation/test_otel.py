"""A worker goes on with the trace of its call."""

import pytest
from opentelemetry.sdk.trace import TracerProvider

from failsoft.core.context import CallContext
from failsoft.isolation.process import ProcessRunner
from tests.isolation import bodies

pytestmark = [pytest.mark.process, pytest.mark.slow]


async def test_the_trace_crosses():
    """What a body begins in a worker belongs to the trace in which the call was made, and to none outside of one."""
    tracer = TracerProvider().get_tracer("test")
    runner = ProcessRunner(max_workers=1)
    try:
        runner.prepare(bodies.trace_id)
        with tracer.start_as_current_span("call") as span:
            inside = await runner.start(bodies.trace_id, {}, CallContext("trace_id", {}))
        outside = await runner.start(bodies.trace_id, {}, CallContext("trace_id", {}))
    finally:
        await runner.aclose(1)
    assert inside == format(span.get_span_context().trace_id, "032x")
    assert outside == "0" * 32
