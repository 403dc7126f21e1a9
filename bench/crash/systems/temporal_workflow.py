"""The workflow of Temporal's part: in a file of its own, because a workflow must be importable by itself."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError


@workflow.defn
class ChargeAll:
    """Pays one step after another."""

    @workflow.run
    async def run(self, steps: int, attempts: int, start_to_close_s: float) -> list[int]:
        """The steps of which it is not known whether they were paid; `attempts` 0 is without end."""
        unsure = []
        for step in range(steps):
            try:
                await workflow.execute_activity(
                    "charge",
                    step,
                    start_to_close_timeout=timedelta(seconds=start_to_close_s),
                    retry_policy=RetryPolicy(maximum_attempts=attempts),
                )
            except ActivityError:
                unsure.append(step)
        return unsure
