"""What tests of services are written with."""

from engine.sources.services import read_query
from engine.types.corpora import ServiceQuery

KEY = "key-of-somebody-1234"


def query_of(asked: str, limit: int | None = None) -> ServiceQuery:
    """``openalex:words`` as a query."""
    return read_query(*asked.split(":", 1), limit)
