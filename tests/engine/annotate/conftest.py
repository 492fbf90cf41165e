"""A model that grades, and an explorer that is connected to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.explorer import Explorer
from tests.fakes.model_answers import MODEL, Knowledge, grades_by
from tests.fakes.model_server import ModelServer, serving
from tests.support import make_explorer


@pytest.fixture
def grader() -> Iterator[ModelServer]:
    """A model that gives 3 to what trains a network, and 0 to the rest."""
    with serving(Knowledge({}, {}), handlers=[grades_by()]) as running:
        yield running


@pytest.fixture
def graded(small_copy: Explorer, grader: ModelServer) -> Explorer:
    """An explorer whose endpoint is that model."""
    return make_explorer(small_copy.home.ledger.parent, openai_base_url=grader.url, llm_model=MODEL)
