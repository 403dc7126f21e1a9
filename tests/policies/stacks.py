"""Tools and what holds for them, for the tests of the stack."""

from typing import Any

from failsoft.core.annotations import Annotations
from failsoft.policies import EffectivePolicy, Policy, resolve
from failsoft.policies.stack import ToolFacts

READS = Annotations(read_only=True)
PAYS = Annotations(destructive=True)
PUTS = Annotations(idempotent=True)
PLAIN = Annotations()


def tool(name: str = "t", annotations: Annotations = READS, streams: bool = False) -> ToolFacts:
    """Facts of a tool."""
    return ToolFacts(name=name, annotations=annotations, streams=streams)


def policy(annotations: Annotations = READS, **parts: Any) -> EffectivePolicy:
    """What holds for a tool with these parts."""
    return resolve(tool=Policy(**parts), standing=annotations.standing)
