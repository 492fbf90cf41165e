"""What the tests of the engine share besides: a model on loopback, and a ledger for answers."""

import pytest

from engine.collections.readers import read_collection
from engine.config import DEMO
from tests.fakes.model_answers import read_knowledge
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import answers, knowledge
from tests.support import make_explorer


@pytest.fixture
def server():
    """A model that judges the small corpus (``tests/fakes/model_sessions.py``)."""
    with serving(knowledge()) as running:
        yield running


@pytest.fixture
def store(home):
    """The answers in the ledger of this test's home."""
    return answers(home)


@pytest.fixture(scope="session")
def demo_collection():
    """The judged collection of the corpus ``demo``."""
    return read_collection(DEMO)


@pytest.fixture(scope="session")
def collection(lab_source):
    """A collection of 60 documents and 12 queries, called ``lab``."""
    return read_collection(lab_source)


@pytest.fixture(scope="session")
def tiny(_lab_imported):
    """An explorer over a home with that collection. For reading only."""
    return make_explorer(_lab_imported)


@pytest.fixture
def pool_server(collection):
    """A model that judges that collection by its judgments."""
    assert collection.documents is not None
    with serving(read_knowledge(collection.documents)) as running:
        yield running
