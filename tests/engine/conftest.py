"""What the tests of the engine share besides: a model on loopback, and a ledger for answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.collections.readers import read_collection
from engine.config import DEMO
from engine.explorer import Explorer
from engine.types.evaluations import Collection
from storage.answers import Answers
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import answers, knowledge
from tests.support import make_explorer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that judges the small corpus (``tests/fakes/model_sessions.py``)."""
    with serving(knowledge()) as running:
        yield running


@pytest.fixture
def store(home: Path) -> Answers:
    """The answers in the ledger of this test's home."""
    return answers(home)


@pytest.fixture(scope="session")
def demo_collection() -> Collection:
    """The judged collection of the corpus ``demo``."""
    return read_collection(DEMO)


@pytest.fixture(scope="session")
def collection(lab_source: Path) -> Collection:
    """A collection of 60 documents and 12 queries, called ``lab``."""
    return read_collection(lab_source)


@pytest.fixture(scope="session")
def tiny(_lab_imported: Path) -> Explorer:
    """An explorer over a home with that collection. For reading only."""
    return make_explorer(_lab_imported)


@pytest.fixture
def pool_server(collection: Collection) -> Iterator[ModelServer]:
    """A model that judges that collection by its judgments."""
    assert collection.documents is not None
    with serving(read_knowledge(collection.documents)) as running:
        yield running
