"""Collections that cannot be evaluated are refused with the file and place of the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import write_lines
from tests.cli.refusals import assert_refused

GOOD = {"id": "a", "text": "Frogs sing at dusk."}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A sound collection of two documents, for tests to break."""
    folder = tmp_path / "pair"
    write_lines(folder / "corpus.jsonl", [GOOD, {"id": "b", "text": "Toads listen."}])
    write_lines(
        folder / "topics.jsonl", [{"query_id": "a_method", "seed": "a", "aspect": "method"}]
    )
    (folder / "qrels.txt").write_text("a_method 0 b 1\n")
    return folder


def test_what_is_no_collection_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    source = write_lines(tmp_path / "docs" / "a.jsonl", [GOOD])
    assert_refused(home, "evaluate", source, says=("a.jsonl", "not a test collection", "BEIR"))
    assert_refused(home, "evaluate", source.parent, says=("docs", "not a test collection"))
    assert_refused(home, "evaluate", tmp_path / "no", says=(str(tmp_path / "no"), "does not exist"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--systems", "dense,magic"), ("'magic'", "bm25")),
        (("--systems", " , "), ("--systems", "bm25")),
        (("--steer", "2"), ("2.0", "0 to 1")),
        (("--corpus", "nope"), ("'nope'",)),
    ],
    ids=["unknown system", "no system", "steer", "unknown corpus"],
)
def test_an_evaluation_that_cannot_be_is_refused_before_anything_is_indexed(
    options: tuple[str, ...], says: tuple[str, ...], collection: Path, tmp_path: Path
) -> None:
    assert_refused(tmp_path / "home", "evaluate", collection, *options, says=says)


def test_a_run_folder_that_cannot_be_made_is_refused_before_anything_is_indexed(
    collection: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    options = ("--systems", "dense", "--run-out", tmp_path / "file")
    assert_refused(
        tmp_path / "home", "evaluate", collection, *options, says=(str(tmp_path / "file"),)
    )


def test_a_collection_without_documents_asks_for_the_corpus(
    collection: Path, tmp_path: Path
) -> None:
    (collection / "corpus.jsonl").unlink()
    assert_refused(tmp_path / "home", "evaluate", collection, says=("'pair'", "--corpus"))


def test_a_collection_without_judgments_is_refused(collection: Path, tmp_path: Path) -> None:
    (collection / "qrels.txt").unlink()
    assert_refused(tmp_path / "home", "evaluate", collection, says=("pair", "qrels"))


def test_a_collection_whose_seeds_are_elsewhere_is_refused(
    collection: Path, demo_home: Path
) -> None:
    says = ("'a'", "'a_method'", "'demo'", "--corpus")
    assert_refused(demo_home, "evaluate", collection, "--corpus", "demo", says=says)


BROKEN_COLLECTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "topic that is no JSON": ("topics.jsonl", "{\n", ("topics.jsonl", "line 1")),
    "topic without id": ("topics.jsonl", '{"seed": "a"}\n', ("topics.jsonl", "query_id")),
    "topic that is a list": ("topics.jsonl", "[1]\n", ("topics.jsonl", "line 1")),
    "topic without seed": ("topics.jsonl", '{"query_id": "q"}\n', ("q",)),
    "no topics": ("topics.jsonl", "", ("no queries",)),
    "judgment of three columns": ("qrels.txt", "a_method 0 b\n", ("qrels.txt",)),
    "grade that is no number": ("qrels.txt", "a_method 0 b good\n", ("qrels.txt",)),
    "about that is no JSON": ("collection.json", "{", ("collection.json",)),
}


@pytest.mark.parametrize(
    "case",
    BROKEN_COLLECTIONS,
)
def test_a_broken_collection_is_refused_with_the_file_named(
    case: str, collection: Path, tmp_path: Path
) -> None:
    name, content, says = BROKEN_COLLECTIONS[case]
    (collection / name).write_text(content)
    assert_refused(tmp_path / "home", "evaluate", collection, "--systems", "dense", says=says)


def test_a_beir_folder_with_foreign_columns_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    write_lines(folder / "corpus.jsonl", [{"_id": "a", "text": "Frogs."}])
    write_lines(folder / "queries.jsonl", [{"_id": "q", "text": "Frogs?"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query\tdoc\tgrade\nq\ta\t1\n")
    assert_refused(tmp_path / "home", "evaluate", folder, says=("test.tsv", "query-id"))


def test_an_impliret_file_without_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("pos_document,question\nFrogs.,Who sings?\n")
    assert_refused(tmp_path / "home", "evaluate", path, says=("a.csv", "id"))
