"""What all tests share: models and corpora are made once, and nothing leaves a temporary folder.

Corpora made once per session are for reading only. A test that writes takes ``home`` (an empty
one, and the ``SEEDLENS_HOME`` of that test) or ``small_copy``.
"""

import os
import shutil
from pathlib import Path

# Before anything imports huggingface_hub, which reads it once: no test may reach the network.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.encoded_once import EncodedOnce
from tests.fakes import postgres_server
from tests.fakes.small_corpus import DOCUMENTS, write_collection
from tests.fakes.tiny_models import save_bert
from tests.support import ARGUMENTS, CHROMIUM, made_once, make_explorer, root_of_all, write_jsonl

BROWSER = ("tests/browser/", "tests/components/")
CSFCUBE = Path(__file__).resolve().parents[2] / "shared" / "data" / "csfcube-open"


class FileScheduling(LoadFileScheduling):
    """A file's tests stay in one process, and so do all that drive the app or a component.

    Those share one server and one Chromium, which are enough to keep a core busy.
    """

    def _split_scope(self, nodeid):
        path = str(super()._split_scope(nodeid))
        return next((folder for folder in BROWSER if path.startswith(folder)), path)


def pytest_xdist_make_scheduler(config, log):
    return FileScheduling(config, log)


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.fail("No Chromium or Chrome was found; 'make test' installs it or says how.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        opened.new_context(reduced_motion="reduce").new_page()  # tests of the app share it
        yield opened
        opened.close()


@pytest.fixture(scope="session", autouse=True)
def _no_home_of_a_person(tmp_path_factory):
    """Fixtures that outlive a test have a temporary home too; a person's settings do not count."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("SEEDLENS_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("SEEDLENS_HOME", str(tmp_path_factory.mktemp("session-home")))
        patch.setenv("HF_HUB_OFFLINE", "1")
        # Nobody has to wait for the repeats of failed requests to a model.
        patch.setattr("engine.llm.transport.FIRST_PAUSE", 0.02)
        # Maps too: few tests look at one, and those make it.
        patch.setenv("SEEDLENS_MAPS", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def encoded_once(tmp_path_factory):
    """What a model made of a passage is made once: tests import the same documents often."""
    from engine.encode.one_pass import OnePassEncoder

    shared = root_of_all(tmp_path_factory) / "encoded"
    once = EncodedOnce(OnePassEncoder.encode, OnePassEncoder.encode_query, shared)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnePassEncoder, "encode", lambda *given: once.encode(*given))
        patch.setattr(OnePassEncoder, "encode_query", lambda *given: once.encode_query(*given))
        yield once


@pytest.fixture(autouse=True)
def _own_home(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEDLENS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def home(tmp_path):
    """An empty home, the ``SEEDLENS_HOME`` of this test."""
    return tmp_path / "home"


@pytest.fixture
def fresh(home):
    """An explorer over an empty home."""
    return make_explorer(home)


@pytest.fixture(scope="session")
def encoder():
    """The embedded model, loaded once."""
    from engine.encode.loaders import load_encoder

    return load_encoder()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """The folder of a sentence-transformers model that knows nothing and is fast.

    32 columns, one layer, random weights from a fixed seed, pooled from the first token; it
    sees 64 tokens at once.
    """
    from sentence_transformers import SentenceTransformer, models

    folder = tmp_path_factory.mktemp("tiny-model")
    save_bert(folder / "parts")
    transformer = models.Transformer(str(folder / "parts"), max_seq_length=64)
    modules = [transformer, models.Pooling(32, "cls"), models.Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="session")
def small_source(tmp_path_factory):
    """The documents of ``small_corpus.py`` as a JSONL file."""
    return write_jsonl(tmp_path_factory.mktemp("small") / "small.jsonl", DOCUMENTS)


@pytest.fixture(scope="session")
def small_home(tmp_path_factory, small_source):
    """A home with the corpus ``small``. For reading only."""
    from engine.types.corpora import ImportRequest

    wanted = ImportRequest(small_source, "small")
    return made_once(
        "small", tmp_path_factory, lambda home: make_explorer(home).library.import_documents(wanted)
    )


@pytest.fixture(scope="session")
def small(small_home):
    """An explorer over ``small_home``. For reading only."""
    return make_explorer(small_home)


@pytest.fixture
def small_copy(small_home, home):
    """An explorer over a copy of ``small_home`` that the test may write to."""
    shutil.copytree(small_home, home)
    return make_explorer(home)


@pytest.fixture(scope="session")
def lab_source(tmp_path_factory):
    """The folder of ``small_collection.py``. For reading only: other processes read it, too."""
    return write_collection(tmp_path_factory.mktemp("lab") / "lab")


@pytest.fixture(scope="session")
def _lab_imported(tmp_path_factory, lab_source):
    from engine.types.corpora import ImportRequest

    wanted = ImportRequest(lab_source, "lab")
    return made_once(
        "lab-imported",
        tmp_path_factory,
        lambda home: make_explorer(home).library.import_documents(wanted),
    )


@pytest.fixture(scope="module")
def lab_home(tmp_path_factory, _lab_imported):
    """A home with the small collection as corpus ``lab``; the tests of a module add to it."""
    home = tmp_path_factory.mktemp("lab-home") / "home"
    shutil.copytree(_lab_imported, home)
    return home


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory):
    """A home with the corpus ``demo``. For reading only."""
    return made_once("demo", tmp_path_factory, lambda home: make_explorer(home).library.add_demo())


@pytest.fixture(scope="session")
def explorer(demo_home):
    """An explorer over ``demo_home``. For reading only."""
    return make_explorer(demo_home)


@pytest.fixture(scope="session")
def postgres():
    """A running server of PostgreSQL, for tests that leave it running; skips where none can be."""
    yield from _postgres()


@pytest.fixture
def own_postgres():
    """One that the test may stop."""
    yield from _postgres()


def _postgres():
    if why := postgres_server.missing():
        pytest.skip(why)
    with postgres_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def csfcube():
    """The CSFCube folder; skips where the data is not there."""
    if not CSFCUBE.is_dir():
        pytest.skip(f"CSFCube is not here: {CSFCUBE}")
    return CSFCUBE
