"""What the tests of services share: a server of invented papers, and a way to retrieve them."""

from functools import partial

import pytest

from engine.config import Settings
from engine.sources.services import Retrieval, client_of, service_of
from engine.types.callbacks import never
from storage.home import Home
from tests.engine.sources.asking_services import KEY, query_of
from tests.fakes.service_server import serving_papers


@pytest.fixture(scope="session")
def _serving():
    with serving_papers() as server:
        yield server


@pytest.fixture
def services(_serving):
    """250 papers, at every service."""
    _serving.reset(250)
    return _serving


@pytest.fixture
def settings(services):
    """Those that lead to the server, with a key of OpenAlex."""
    return Settings(**services.settings, openalex_key=KEY)


@pytest.fixture
def retrieve(settings, home):
    """Retrieves into ``home/NAME``: ``retrieve("openalex:words", limit=20)``."""

    def run(asked, limit=None, name="retrieved", stopped=never, **others):
        query = query_of(asked, limit)
        retrieval = Retrieval(home / name, service_of(query.service).info.name, query)
        with client_of(query, settings.model_copy(update=others), Home(home), stopped) as client:
            page = partial(service_of(query.service).page, client, query)
            return retrieval.run(page, stopped=stopped)

    return run
