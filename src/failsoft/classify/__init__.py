"""classify owns: what went wrong, for whatever was raised or answered, and what it may have done."""

from failsoft.classify.classifier import Classifier, classify, classify_response
from failsoft.classify.hints import Hint, retry_after
from failsoft.classify.http import Answer
from failsoft.classify.user_rules import Rule

__all__ = ["Answer", "Classifier", "Hint", "Rule", "classify", "classify_response", "retry_after"]
