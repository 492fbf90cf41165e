"""What a disk changes in a corpus is noticed, and said with what to do."""

from __future__ import annotations

import shutil
import zipfile
from datetime import timedelta
from pathlib import Path

import lance
import pytest

from engine.cli import doctor
from engine.config import Settings
from engine.corpora.backup import back_up, restore
from engine.errors import CorpusMissingError, StorageError
from engine.explorer import Explorer
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest
from engine.types.scenarios import ScenarioRequest
from storage.digests import FILE, find_changed, read_digests
from storage.home import Home
from tests.small_corpus import DOCUMENTS
from tests.support import make_explorer, write_jsonl


def rows_of(explorer: Explorer) -> Path:
    """The largest file of rows of the corpus ``small``."""
    files = (explorer.home.corpus("small") / "documents.lance" / "data").glob("*")
    return max(files, key=lambda file: file.stat().st_size)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def unsound(folder: Path) -> tuple[list[str], int]:
    """Files that changed, and how many have no digest."""
    return find_changed(folder, read_digests(folder))


def examined(explorer: Explorer) -> list[doctor.Check]:
    return doctor._corpora(Settings(home=explorer.home.root))


def test_a_sound_corpus_is_said_to_be_sound_and_all_its_files_are_listed(
    small_copy: Explorer,
) -> None:
    (check,) = examined(small_copy)
    assert check.ok
    assert "no checksum" not in check.detail
    assert unsound(small_copy.home.corpus("small")) == ([], 0)


def test_a_flipped_byte_is_told_by_the_doctor_and_refused_by_a_backup(
    small_copy: Explorer, tmp_path: Path
) -> None:
    file = rows_of(small_copy)
    flip(file)
    (check,) = examined(small_copy)
    assert not check.ok
    for part in ("'small' is damaged", file.name, "import its source again", "restore a backup"):
        assert part in check.detail
    with pytest.raises(StorageError, match=f"'small' is damaged: {file.name}") as refused:
        back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    assert "--only irreplaceable" in refused.value.remedy
    assert list(tmp_path.glob("*home.zip*")) == []
    back_up(small_copy.home, small_copy.ledger, tmp_path / "rest.zip", "irreplaceable")


def test_nothing_makes_sound_files_of_damaged_ones(small_copy: Explorer, tmp_path: Path) -> None:
    flip(rows_of(small_copy))
    more = write_jsonl(tmp_path / "more.jsonl", [{**DOCUMENTS[0], "doc_id": "more"}])
    with pytest.raises(StorageError, match="'small' is damaged"):
        small_copy.library.import_documents(ImportRequest(more, "small"))
    with pytest.raises(StorageError, match="'small' is damaged"):
        small_copy.library.set_lens("small", POSTS)
    assert small_copy.library.corpus("small").documents == 40
    assert [check.ok for check in examined(small_copy)] == [False]


def test_a_damaged_corpus_is_sound_again_when_it_was_deleted_and_imported(
    small_copy: Explorer, small_source: Path
) -> None:
    flip(rows_of(small_copy))
    small_copy.library.delete("small")
    small_copy.library.import_documents(ImportRequest(small_source, "small"))
    assert [check.ok for check in examined(small_copy)] == [True]


def test_another_import_lists_what_it_wrote_and_forgets_what_went(
    small_copy: Explorer, tmp_path: Path
) -> None:
    folder = small_copy.home.corpus("small")
    before = read_digests(folder)
    more = tmp_path / "more.jsonl"
    more.write_text('{"doc_id": "more", "title": "More", "text": "One more about bees."}\n')
    small_copy.library.import_documents(ImportRequest(more, "small"))
    after = read_digests(folder)
    assert after.keys() - before.keys()
    assert all((folder / path).is_file() for path in after)
    assert unsound(folder) == ([], 0)


def test_a_corpus_without_a_list_is_unchecked_until_something_is_written_to_it(
    small_copy: Explorer, small_source: Path, tmp_path: Path
) -> None:
    listed = small_copy.home.corpus("small") / FILE
    for content in (None, "[", "[1]"):
        listed.unlink() if content is None else listed.write_text(content)
        (check,) = examined(small_copy)
        assert check.ok
        assert "have no checksum yet" in check.detail
        back_up(small_copy.home, small_copy.ledger, tmp_path / f"{content}.zip")
    small_copy.library.import_documents(ImportRequest(small_source, "small"))
    assert unsound(small_copy.home.corpus("small")) == ([], 0)


def test_a_restored_corpus_is_checked_by_what_was_listed_when_it_was_written(
    small_copy: Explorer, tmp_path: Path
) -> None:
    back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    restore(tmp_path / "home.zip", Home(tmp_path / "other"))
    other = make_explorer(tmp_path / "other")
    assert [check.ok for check in examined(other)] == [True]
    flip(rows_of(other))
    assert [check.ok for check in examined(other)] == [False]


def test_a_lost_file_is_told_by_a_search_and_by_the_doctor(small_copy: Explorer) -> None:
    file = rows_of(small_copy)
    file.unlink()
    with pytest.raises(CorpusMissingError, match="a file of it is lost") as lost:
        small_copy.library.open("small")
    assert "seedlens doctor" in lost.value.remedy
    (check,) = examined(small_copy)
    assert not check.ok
    assert f"{file.name} is not there" in check.detail


def test_a_truncated_file_is_told_by_a_search_and_by_the_doctor(small_copy: Explorer) -> None:
    file = rows_of(small_copy)
    with file.open("r+b") as rows:
        rows.truncate(file.stat().st_size // 2)
    with pytest.raises(StorageError) as cut:
        small_copy.library.open("small")
    assert "seedlens doctor" in cut.value.remedy
    assert [check.ok for check in examined(small_copy)] == [False]


@pytest.mark.parametrize("kind", ["data/*", "_deletions/*", "_indices/*", "_indices/*/*docs*"])
def test_a_backup_of_a_corpus_that_lost_a_file_is_refused_and_the_doctor_names_it(
    small_copy: Explorer, tmp_path: Path, kind: str
) -> None:
    changed = write_jsonl(tmp_path / "changed.jsonl", [{**DOCUMENTS[0], "title": "Another title"}])
    small_copy.library.import_documents(ImportRequest(changed, "small"))
    table = small_copy.home.corpus("small") / "documents.lance"
    if kind.startswith("_deletions"):  # compacting takes them out
        lance.dataset(str(table)).delete(f"doc_id = '{DOCUMENTS[1]['doc_id']}'")
    lance.dataset(str(table)).cleanup_old_versions(timedelta(0), delete_unverified=True)
    lost = sorted(table.glob(kind))[-1]
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    (check,) = examined(small_copy)
    assert not check.ok
    assert f"{lost.name} is not there" in check.detail or f"{lost.name} and " in check.detail
    with pytest.raises(StorageError, match="'small' is damaged"):
        back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    assert list(tmp_path.glob("*home.zip*")) == []


def test_the_doctor_tells_a_corpus_whose_folder_or_last_documents_are_gone(
    small_copy: Explorer, tmp_path: Path
) -> None:
    table = small_copy.home.corpus("small") / "documents.lance"
    before = shutil.copytree(table, tmp_path / "before")
    more = write_jsonl(tmp_path / "more.jsonl", [{**DOCUMENTS[0], "doc_id": "more"}])
    small_copy.library.import_documents(ImportRequest(more, "small"))
    shutil.rmtree(table)
    (check,) = examined(small_copy)
    assert "documents.lance with all 41 documents is not there" in check.detail
    shutil.copytree(before, table)
    (check,) = examined(small_copy)
    assert not check.ok
    assert "documents.lance with all 41 documents is not there" in check.detail


def test_a_changed_list_of_a_versions_files_is_told(small_copy: Explorer) -> None:
    versions = (small_copy.home.corpus("small") / "documents.lance" / "_versions").glob(
        "*.manifest"
    )
    flip(max(versions))
    (check,) = examined(small_copy)
    assert not check.ok


def test_what_a_killed_import_had_half_written_goes_with_the_next_one_and_is_in_no_backup(
    small_copy: Explorer, tmp_path: Path
) -> None:
    """Lance names files so while it writes them."""
    table = small_copy.home.corpus("small") / "documents.lance"
    halves = [table / part / ".tmpAbCdEf" for part in ("data", "_versions", "_deletions")]
    for half in halves:
        half.parent.mkdir(exist_ok=True)
        half.write_bytes(b"half of it")
    (check,) = examined(small_copy)
    assert "no checksum" not in check.detail
    back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    with zipfile.ZipFile(tmp_path / "home.zip") as archive:
        assert [name for name in archive.namelist() if ".tmp" in name] == []
    more = write_jsonl(tmp_path / "more.jsonl", [{**DOCUMENTS[0], "doc_id": "more"}])
    small_copy.library.import_documents(ImportRequest(more, "small"))
    assert [half for half in halves if half.exists()] == []


def test_a_table_that_was_never_finished_is_none_and_is_made_anew(
    small_copy: Explorer, tmp_path: Path
) -> None:
    """As LanceDB leaves one when its process is killed, or its disk is full, as it is created."""
    table = small_copy.home.corpus("small") / "scenarios.lance"
    (table / "_versions").mkdir(parents=True)
    (table / "_transactions").mkdir()
    (table / "_transactions" / "0-88568417.txn").write_bytes(b"begun")
    (check,) = examined(small_copy)
    assert check.ok
    assert "scenario" not in small_copy.library.corpus("small").systems
    for only in (None, "irreplaceable"):
        file = tmp_path / f"{only}.zip"
        back_up(small_copy.home, small_copy.ledger, file, only)
        restore(file, Home(tmp_path / f"{only}"))
    request = ScenarioRequest("small", "extractive")
    assert small_copy.scenarios.run(request).written
    (check,) = examined(small_copy)
    assert check.ok
