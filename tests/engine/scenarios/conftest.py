"""A model that writes scenarios for the small corpus."""

import pytest

from tests.engine.scenarios.scenario_runs import connected
from tests.fakes.model_answers import writes_scenarios
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge


@pytest.fixture
def writer():
    """A model that writes scenarios for the small corpus."""
    with serving(knowledge(), latency=0.02, handlers=[writes_scenarios]) as running:
        yield running


@pytest.fixture
def taught(small_copy, writer):
    """The small corpus, and a model that writes about it."""
    return connected(small_copy.home.root, writer)
