"""What the tests of services share: a server of invented papers, and a way to retrieve them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.config import Settings
from engine.sources.services import Retrieval, Retrieved, client_of, service_of
from engine.types.callbacks import Ask, never
from storage.home import Home
from tests.engine.sources.asking_services import KEY, Retrieve, query_of
from tests.fakes.service_server import ServiceServer, serving_papers


@pytest.fixture(scope="session")
def _serving() -> Iterator[ServiceServer]:
    with serving_papers() as server:
        yield server


@pytest.fixture
def services(_serving: ServiceServer) -> ServiceServer:
    """250 papers, at every service."""
    _serving.reset(250)
    return _serving


@pytest.fixture
def settings(services: ServiceServer) -> Settings:
    """Those that lead to the server, with a key of OpenAlex."""
    return Settings(**services.settings, openalex_key=KEY)


@pytest.fixture
def retrieve(settings: Settings, home: Path) -> Retrieve:
    """Retrieves into ``home/NAME``: ``retrieve("openalex:words", limit=20)``."""

    def run(
        asked: str,
        limit: int | None = None,
        name: str = "retrieved",
        stopped: Ask = never,
        **others: Any,
    ) -> Retrieved:
        query = query_of(asked, limit)
        retrieval = Retrieval(home / name, service_of(query.service).info.name, query)
        with client_of(query, settings.model_copy(update=others), Home(home), stopped) as client:
            page = partial(service_of(query.service).page, client, query)
            return retrieval.run(page, stopped=stopped)

    return run
