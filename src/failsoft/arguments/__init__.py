"""arguments owns the way from what the model wrote to what the tool needs: read, coerce, validate, or say no.

Nothing is guessed: the result is exactly what was meant, or an `InvalidArgument` that says what to change.
"""

from failsoft.arguments.reader import ArgumentReader, Parsed

__all__ = ["ArgumentReader", "Parsed"]
