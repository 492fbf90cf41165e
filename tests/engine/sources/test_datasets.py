"""Data sets of ir_datasets, here two small ones of its own classes that lie in local files."""

from __future__ import annotations

import sys
import threading

import pytest

from engine.collections.readers import read_collection
from engine.errors import BadInputError, UnknownNameError
from engine.ingest.source import open_source
from engine.lenses.definitions import RESEARCH
from engine.sources.datasets import (
    dataset_names,
    describe_dataset,
    fetch_dataset,
    folder_of,
    name_of,
)
from engine.types.corpora import DatasetInfo
from storage.home import Home
from tests.fakes.data_sets import small_data_sets

ir_datasets = pytest.importorskip("ir_datasets", reason="the extra 'datasets' is not installed")


@pytest.fixture(scope="module", autouse=True)
def datasets(tmp_path_factory):
    with small_data_sets(tmp_path_factory.mktemp("ir")):
        yield


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def test_documents_queries_and_judgments_become_a_collection(home):
    folder = fetch_dataset(home, "small")
    first, second, third, fourth = open_source(folder, lens=RESEARCH)
    assert (first.doc_id, first.title, first.text, first.year) == (
        *("d1", "Crayfish", "Otters eat them."), 2011,
    )  # fmt: skip
    assert second.year is None
    assert third.text == "No text"  # the title stands in
    assert fourth.doc_id == "d_4"  # TREC's files part ids by white space
    collection = read_collection(folder)
    assert collection.documents == folder
    assert [(t.query_id, t.text) for t in collection.topics] == [("q1", "who eats crayfish")]
    assert collection.qrels == {"q1": {"d1": 5, "d2": 0}}
    assert fetch_dataset(home, "small") == folder
    assert describe_dataset(home, "small").is_there
    assert name_of(folder) == "small"
    assert name_of(folder.parent) == ""


def test_the_narrative_of_a_topic_is_its_wording(home):
    (topic,) = read_collection(fetch_dataset(home, "small/trec")).topics
    assert topic.text == "crayfish in ponds"
    assert topic.instruction is not None
    assert topic.instruction.startswith("Relevant documents name an animal that eats crayfish.")


def test_an_unknown_name_is_answered_with_those_like_it(home):
    with pytest.raises(UnknownNameError, match="no data set 'beir/scifakt'") as refused:
        fetch_dataset(home, "beir/scifakt")
    assert "beir/scifact" in refused.value.remedy


def test_what_a_data_set_brings_is_known_before_it_is_downloaded(home):
    assert describe_dataset(home, "beir/scifact") == DatasetInfo(
        "beir/scifact", 5183, "beir/scifact/test", 300, 339, is_there=False
    )
    assert describe_dataset(home, "cord19").judged == ""
    assert describe_dataset(home, "small") == DatasetInfo(
        "small", None, "small/test", None, None, is_there=False
    )
    assert {"beir/scifact", "bright/biology", "small"} < set(dataset_names(home))
    assert not list(home.root.glob("uploads/*/")), "nothing is downloaded"


def test_a_download_that_is_cancelled_leaves_nothing_and_begins_anew(home, monkeypatch):
    dataset, entered, released = ir_datasets.load("small"), threading.Event(), threading.Event()

    def hang():
        entered.set()
        released.wait(30)
        return iter(())

    with monkeypatch.context() as patched:
        patched.setattr(dataset, "docs_iter", hang, raising=False)
        assert fetch_dataset(home, "small", stopped=entered.is_set) is None
        assert not folder_of(home, "small").exists()
        released.set()
    assert fetch_dataset(home, "small") == folder_of(home, "small")


@pytest.mark.parametrize("fault", [OSError("no route to host"), RuntimeError("all failed")])
def test_what_cannot_be_downloaded_is_one_message_and_leaves_nothing(home, fault, monkeypatch):
    dataset = ir_datasets.load("small")

    def fail():
        raise fault

    monkeypatch.setattr(dataset, "docs_iter", fail, raising=False)
    with pytest.raises(BadInputError, match=f"cannot be downloaded or read: {fault}"):
        fetch_dataset(home, "small")
    assert not folder_of(home, "small").exists()


def test_without_the_library_it_is_said_how_to_install_it(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(BadInputError, match="not installed") as refused:
        fetch_dataset(home, "small")
    assert "seedlens[datasets]" in refused.value.remedy
