"""``seedlens import`` of a folder of PDFs, and of data sets by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.types.corpora import ImportRequest
from tests.cli.command_line import run_inside
from tests.fakes import pdfs
from tests.support import make_explorer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for made in (pdfs.made("acl-1"), pdfs.made("elsevier")):
        (folder / f"{made.name}.pdf").write_bytes(made.content)
    (folder / "empty.pdf").write_bytes(b"")
    return folder


def test_a_folder_of_papers_is_imported_and_extended(
    home: Path, folder: Path, tiny_model: Callable[[str], Path]
) -> None:
    model = ("--encoder", tiny_model("small"))
    done = run_inside(home, "import", folder, "--name", "mine", *model)
    assert "'mine' holds 2 documents: 2 added" in done.stdout
    assert done.stderr.strip().endswith("Warning: Left out: empty.pdf: the file is empty.")
    made = pdfs.made("elsevier")
    document = make_explorer(home).document("mine", "elsevier")
    assert (document.title, document.year, document.text) == (made.title, 2016, made.abstract)
    assert set(document.authors) == set(made.authors)

    (folder / "empty.pdf").write_bytes(pdfs.made("plos").content)
    done = run_inside(home, "import", folder, "--name", "mine", *model)
    assert "'mine' holds 3 documents: 1 added, 0 updated, 2 unchanged" in done.stdout
    done = run_inside(home, "import", folder, "--name", "mine", "--pdf", "sections", "--json")
    assert done.json["unchanged"] == 3
    assert done.json["added"] >= 10


@pytest.mark.parametrize("source", ["papers", "papers/acl-1.pdf", "papers.zip", "table.parquet"])
def test_a_path_is_that_of_the_folder_in_which_it_is_named(
    home: Path,
    folder: Path,
    tiny_model: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
) -> None:
    parent = folder.parent
    (folder / "empty.pdf").unlink()
    shutil.make_archive(str(parent / "papers"), "zip", folder)
    pq.write_table(pa.table({"id": ["1"], "text": ["One."]}), parent / "table.parquet")
    monkeypatch.chdir(parent)
    done = run_inside(home, "import", source, "--name", "one", "--encoder", tiny_model("small"))
    assert "'one' holds " in done.stdout
    assert "Left out" not in done.stderr
    assert ImportRequest(Path(source), "one").source == parent / source
    assert make_explorer(home).library.preview(Path(source)).documents


@pytest.fixture
def named(tmp_path: Path) -> Iterator[None]:
    """A data set of ir_datasets called ``small-ir``, in local files."""
    library = pytest.importorskip("ir_datasets", reason="the extra 'datasets' is not installed")
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    def file(name: str, text: str) -> LocalDownload:
        (tmp_path / name).write_text(text)
        return LocalDownload(tmp_path / name)

    docs = TsvDocs(file("docs.tsv", "d1\tOtters eat crayfish.\nd2\tPonds are deep.\nd3\t\n"))
    queries = TsvQueries(file("queries.tsv", "q1\twho eats crayfish\n"))
    qrels = TrecQrels(file("qrels.txt", "q1 0 d1 1\n"), {})
    library.registry.register("small-ir", Dataset(docs, queries, qrels))
    yield
    library.registry._registered.pop("small-ir")


@pytest.mark.usefixtures("named")
def test_a_data_set_by_name_is_a_collection_for_evaluate_at_once(
    home: Path, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    model = ("--encoder", tiny_model("small"))
    done = run_inside(home, "import", "ir:small-ir", *model)
    assert "'small-ir' holds 2 documents: 2 added" in done.stdout
    assert "1 row without text was left out" in done.stderr
    (info,) = make_explorer(home).collections.all()
    assert (info.key, info.queries, info.problem) == ("small-ir", 1, "")
    library = make_explorer(home).library
    assert library.source_name(library.corpus("small-ir").source) == "ir:small-ir"
    again = run_inside(home, "import", "ir:small-ir", *model)
    assert "0 added, 0 updated, 2 unchanged" in again.stdout
    refused = run_inside(home, "import", "ir:small-irr")
    assert refused.code == 2
    assert "ir_datasets has no data set 'small-irr'. Did you mean small-ir" in refused.stderr
