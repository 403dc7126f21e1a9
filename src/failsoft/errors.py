"""The errors that a tool may raise and a caller may catch; one class per kind.

from failsoft.errors import NotFound, RateLimited

raise RateLimited("The catalogue allows 5 searches a minute.", retry_after_s=12)
"""

from failsoft.core.errors import *  # noqa: F403
from failsoft.core.errors import __all__ as __all__
