"""telemetry owns what operators see of a run while it runs: sinks that take events."""

from failsoft.telemetry.fanout import Fanout, QueueSink
from failsoft.telemetry.log import LogSink, configure_from_env

__all__ = ["Fanout", "LogSink", "QueueSink", "configure_from_env"]
