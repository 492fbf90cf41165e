"""A model that grades, and an explorer that is connected to it."""

import pytest

from tests.fakes.model_answers import MODEL, Knowledge, grades_by
from tests.fakes.model_server import serving
from tests.support import make_explorer


@pytest.fixture
def grader():
    """A model that gives 3 to what trains a network, and 0 to the rest."""
    with serving(Knowledge({}, {}), handlers=[grades_by()]) as running:
        yield running


@pytest.fixture
def graded(small_copy, grader):
    """An explorer whose endpoint is that model."""
    return make_explorer(small_copy.home.ledger.parent, openai_base_url=grader.url, llm_model=MODEL)
