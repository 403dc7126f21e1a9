"""feedback owns what is said about a failure, to whom, and what must not be said."""

from failsoft.feedback.model import Feedback
from failsoft.feedback.operator import operator_lines, operator_view
from failsoft.feedback.redact import Level, Redactor, redact

__all__ = ["Feedback", "Level", "Redactor", "operator_lines", "operator_view", "redact"]
