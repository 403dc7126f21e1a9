"""classify owns: what went wrong, for whatever was raised or answered, and what it may have done."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

from failsoft.classify.classifier import Classifier, classify, classify_response
from failsoft.classify.hints import Hint, retry_after
from failsoft.classify.http import Answer
from failsoft.classify.pasted import classify_text
from failsoft.classify.user_rules import Rule

if TYPE_CHECKING:
    from datetime import datetime

    from failsoft.core.errors import AgentError

__all__ = [
    "Answer",
    "Classifier",
    "Hint",
    "Rule",
    "classify",
    "classify_response",
    "classify_text",
    "retry_after",
]


class _CallableModule(types.ModuleType):
    """This package is called like its function: `failsoft.classify(exc)` works whichever of the two was loaded first."""

    def __call__(
        self, exc: BaseException, *, method: str | None = None, now: datetime | None = None
    ) -> AgentError:
        return classify(exc, method=method, now=now)


sys.modules[__name__].__class__ = _CallableModule
