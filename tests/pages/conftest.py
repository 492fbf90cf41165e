"""Pages under AppTest."""

import sys

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

from engine.types.corpora import ImportJob, ImportRequest, Progress
from tests.fakes.model_answers import MODEL


@pytest.fixture(scope="session", autouse=True)
def _packages_scanned_once():
    """Streamlit reads about every installed package whether it has components, for each AppTest."""
    found = manifest_scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: found)
        yield


@pytest.fixture(autouse=True)
def _main_module():
    """AppTest leaves the page behind as ``__main__``.

    A process that another test spawns would import it again, and begin to index the demo.
    """
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def _no_cache_outlives_a_test():
    """Streamlit caches for the whole process: the engine of one test is not another's."""
    clear_caches()
    yield
    clear_caches()


def clear_caches():
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def serve(monkeypatch):
    """Give the pages of this test an explorer; the last one given counts."""

    def give(explorer):
        monkeypatch.setattr("pages._common.shared.open_engine", lambda: explorer)
        return explorer

    return give


@pytest.fixture
def demo(explorer, serve):
    """What the pages open is the demo. For reading only."""
    return serve(explorer)


@pytest.fixture
def connect(monkeypatch):
    """Set the endpoint at this address up as its operator does, in the environment."""

    def set_up(url):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("SEEDLENS_LLM_MODEL", MODEL)

    return set_up


@pytest.fixture
def started(monkeypatch):
    """What would be imported; no process begins."""
    requests: list[ImportRequest] = []

    def start(self, request, owner=""):
        requests.append(request)
        return ImportJob("x", request, "running", Progress("checking", 0, 0, 0.0))

    monkeypatch.setattr("engine.jobs.imports.ImportJobs.start", start)
    return requests
