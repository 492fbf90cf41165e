"""What the tests of the engine share besides: a model on loopback, and a ledger for answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.answers import Answers
from tests.judging import answers, knowledge
from tests.model_server import ModelServer, serving


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that judges the small corpus (``tests/judging.py``)."""
    with serving(knowledge()) as running:
        yield running


@pytest.fixture
def store(home: Path) -> Answers:
    """The answers in the ledger of this test's home."""
    return answers(home)
