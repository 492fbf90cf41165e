"""What the tests of the engine share besides: a model on loopback, and a ledger for answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.collections.readers import read_collection
from engine.explorer import Explorer
from engine.types.evaluations import Collection
from storage.answers import Answers
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import ModelServer, serving
from tests.fakes.model_sessions import answers, knowledge
from tests.fakes.small_corpus import write_collection
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
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """The collection of ``small_collection.py``, called ``tiny``."""
    return read_collection(write_collection(tmp_path_factory.mktemp("collection") / "tiny"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, collection: Collection) -> Explorer:
    """A home with that collection. Answers go elsewhere: every test has its own."""
    explorer = make_explorer(tmp_path_factory.mktemp("tiny-home"))
    explorer.library.import_collection(collection)
    return explorer


@pytest.fixture
def pool_server(collection: Collection) -> Iterator[ModelServer]:
    """A model that judges that collection by its judgments."""
    assert collection.documents is not None
    with serving(read_knowledge(collection.documents)) as running:
        yield running
