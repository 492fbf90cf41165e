"""What tests of services are written with."""

from __future__ import annotations

from collections.abc import Callable

from engine.sources.services import Retrieved, read_query
from engine.types.corpora import ServiceQuery

KEY = "key-of-somebody-1234"
Retrieve = Callable[..., Retrieved]


def query_of(asked: str, limit: int | None = None) -> ServiceQuery:
    """``openalex:words`` as a query."""
    service, _, text = asked.partition(":")
    return read_query(service, text, limit)
