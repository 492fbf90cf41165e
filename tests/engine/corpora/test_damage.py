"""Lost documents are noticed, and what a killed process left does no harm."""

import shutil
import zipfile

import pytest

from engine.cli import doctor
from engine.config import Settings
from engine.corpora.backup import back_up, restore
from engine.errors import CorpusMissingError
from engine.types.corpora import ImportRequest
from engine.types.scenarios import ScenarioRequest
from storage.home import Home
from tests.fakes.small_corpus import DOCUMENTS
from tests.support import write_jsonl


def examined(explorer):
    return doctor._corpora(Settings(home=explorer.home.root))


def test_a_lost_file_is_reported_by_a_search_and_by_the_doctor(small_copy):
    (check,) = examined(small_copy)
    assert check.ok
    files = (small_copy.home.corpus("small") / "documents.lance" / "data").glob("*")
    max(files, key=lambda file: file.stat().st_size).unlink()
    with pytest.raises(CorpusMissingError, match="a file of it is lost") as lost:
        small_copy.library.open("small")
    assert "seedlens doctor" in lost.value.remedy
    (check,) = examined(small_copy)
    assert not check.ok
    for part in ("a file of it is lost", "import its source again", "restore a backup"):
        assert part in check.detail
    shutil.rmtree(small_copy.home.corpus("small") / "documents.lance")
    (check,) = examined(small_copy)
    assert "No documents are stored" in check.detail


def test_what_a_killed_import_had_half_written_goes_with_the_next_one_and_is_in_no_backup(
    small_copy, tmp_path
):
    """Lance names files so while it writes them."""
    table = small_copy.home.corpus("small") / "documents.lance"
    halves = [table / part / ".tmpAbCdEf" for part in ("data", "_versions", "_deletions")]
    for half in halves:
        half.parent.mkdir(exist_ok=True)
        half.write_bytes(b"half of it")
    back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    with zipfile.ZipFile(tmp_path / "home.zip") as archive:
        assert [name for name in archive.namelist() if ".tmp" in name] == []
    more = write_jsonl(tmp_path / "more.jsonl", [{**DOCUMENTS[0], "doc_id": "more"}])
    small_copy.library.import_documents(ImportRequest(more, "small"))
    assert [half for half in halves if half.exists()] == []


def test_a_table_that_was_never_finished_is_none_and_is_made_anew(small_copy, tmp_path):
    """As LanceDB leaves one when its process is killed, or its disk is full, as it is created."""
    table = small_copy.home.corpus("small") / "scenarios.lance"
    (table / "_versions").mkdir(parents=True)
    (table / "_transactions").mkdir()
    (table / "_transactions" / "0-88568417.txn").write_bytes(b"begun")
    (check,) = examined(small_copy)
    assert check.ok
    assert "scenario" not in small_copy.library.corpus("small").systems
    back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    restore(tmp_path / "home.zip", Home(tmp_path / "other"))
    request = ScenarioRequest("small", "extractive")
    assert small_copy.scenarios.run(request).result.written
    (check,) = examined(small_copy)
    assert check.ok
