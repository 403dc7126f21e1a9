"""What the tests of crashes share."""

from tests.stores.server import postgres_server

__all__ = ["postgres_server"]
