"""A home as one file, and what is left of a home whose ledger is lost."""

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from engine.corpora import backup
from engine.corpora.backup import back_up, restore, verify
from engine.errors import BadInputError
from engine.lenses.definitions import POSTS
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from storage.home import Home
from tests.support import make_explorer

EXISTING = Query("small", seed="bees-network", aspect="method", k=5)


def found(explorer, query=EXISTING):
    return [result.document.doc_id for result in explorer.search(query).results]


@pytest.fixture
def backed_up(small_copy, tmp_path):
    small_copy.notebook.put_text("A text that somebody pasted.")
    small_copy.library.save_upload("notes.jsonl", b'{"doc_id": "1", "text": "One."}')
    file = tmp_path / "home.zip"
    back_up(small_copy.home, small_copy.ledger, file)
    return file


def test_a_restored_home_is_searched_like_the_one_that_was_backed_up(
    small_copy, backed_up, tmp_path
):
    assert stat.S_IMODE(backed_up.stat().st_mode) == 0o600
    report = verify(backed_up)
    assert (report.corpora, report.without) == (("small",), ())
    assert restore(backed_up, Home(tmp_path / "other")) == report
    other = make_explorer(tmp_path / "other")
    assert found(other) == found(small_copy)
    text = small_copy.notebook.put_text("A text that somebody pasted.")
    assert other.notebook.text(text) == "A text that somebody pasted."
    assert [path.name for path in other.home.uploads.glob("*/*")] == ["notes.jsonl"]
    assert not list(other.home.root.glob(".*"))


def test_what_cannot_be_made_again_is_enough_to_have_it_all_after_an_import(
    small_copy, small_source, tmp_path
):
    file = tmp_path / "small.zip"
    report = back_up(small_copy.home, small_copy.ledger, file, "irreplaceable")
    assert report.corpora == ()
    # The corpus was made once for all test processes: its source has the folder of one of them.
    assert [(name, Path(source).name) for name, source in report.without] == [
        ("small", small_source.name)
    ]
    restore(file, Home(tmp_path / "other"))
    other = make_explorer(tmp_path / "other")
    assert [(c.name, c.state) for c in other.library.corpora()] == [("small", "indexing")]
    assert other.library.names() == []
    other.library.import_documents(ImportRequest(small_source, "small"))
    assert found(other) == found(small_copy)


def test_a_home_in_use_is_never_restored_over(small_copy, backed_up, tmp_path):
    with pytest.raises(BadInputError, match="in use"):
        restore(backed_up, small_copy.home)
    with pytest.raises(BadInputError, match="exists already"):
        back_up(small_copy.home, small_copy.ledger, backed_up)
    assert found(small_copy)
    other = Home(tmp_path / "other")
    other.root.mkdir()
    (other.root / "ledger.sqlite-wal").write_bytes(b"what a ledger that was moved away had left")
    with pytest.raises(BadInputError, match="in use"):
        restore(backed_up, other)


def test_a_backup_that_changed_or_is_cut_off_is_refused_and_nothing_is_restored(
    backed_up, tmp_path
):
    content = backed_up.read_bytes()
    for damaged in (content[: len(content) // 2], content[:9999] + b"?" + content[10_000:]):
        backed_up.write_bytes(damaged)
        for act in (verify, lambda file: restore(file, Home(tmp_path / "other"))):
            with pytest.raises(BadInputError, match="it is damaged"):
                act(backed_up)
        assert not (tmp_path / "other" / "ledger.sqlite").exists()
        assert not list((tmp_path / "other" / "corpora").iterdir())


def test_a_corpus_that_is_deleted_while_it_is_backed_up_is_in_the_backup_as_it_was(
    small_copy, tmp_path, monkeypatch
):
    library, real, before = small_copy.library, backup._files, found(small_copy)
    done = iter([False])

    def files(folder):
        if not next(done, True):  # the first folder to be read, before those of corpora
            library.delete("small")
            other = [{"doc_id": "other", "text": "Another text, of another corpus."}]
            library.add("small", other, lens=POSTS)
        return real(folder)

    monkeypatch.setattr(backup, "_files", files)
    report = back_up(small_copy.home, small_copy.ledger, tmp_path / "home.zip")
    restore(tmp_path / "home.zip", Home(tmp_path / "other"))
    assert report.corpora == ("small",)
    assert found(make_explorer(tmp_path / "other")) == before


def test_a_home_can_be_moved(small_copy, tmp_path):
    library = small_copy.library
    upload = library.save_upload("one.jsonl", b'{"doc_id": "1", "text": "One sentence to find."}')
    library.import_documents(ImportRequest(upload, "uploaded"))
    stored = {row.name: row.source for row in small_copy.ledger.corpora()}
    assert stored["uploaded"] == upload.relative_to(small_copy.home.root).as_posix()
    before, moved = found(small_copy), tmp_path / "elsewhere"
    old_way = replace(small_copy.ledger.corpora()[-1], name="earlier", source=str(upload))
    small_copy.ledger.put_corpus(old_way)
    shutil.move(small_copy.home.root, moved)
    there = make_explorer(moved)
    assert found(there) == before
    here = moved / stored["uploaded"]
    assert {there.library.corpus(n).source for n in ("uploaded", "earlier")} == {str(here)}
    again = ImportRequest(Path(there.library.corpus("uploaded").source), "uploaded")
    assert there.library.import_documents(again).unchanged == 1


def test_corpora_whose_ledger_is_gone_are_found_again(small_copy, tmp_path):
    small_copy.tidy()  # the corpus may be of a version that made no notes
    before, row = found(small_copy), small_copy.library.corpus("small")
    for file in small_copy.home.root.glob("ledger.sqlite*"):
        file.unlink()
    corpora = small_copy.home.corpora
    for name in ("damaged", "nested", "unknown"):
        (corpora / name).mkdir()
    (corpora / "nested" / "corpus.json").write_text("[" * 100_000)
    shutil.copy(corpora / "small" / "corpus.json", corpora / "damaged" / "corpus.json")
    again = make_explorer(small_copy.home.root)
    assert again.library.names() == []
    assert again.library.rebuild() == (["small"], ["damaged", "nested", "unknown"])
    assert again.library.rebuild() == ([], ["damaged", "nested", "unknown"])
    assert found(again) == before
    assert again.library.corpus("small") == row


def put_in_place(copy, explorer):
    """As people do when the app has ended."""
    explorer.ledger.close()
    shutil.copyfile(copy, explorer.home.ledger)


def test_a_ledger_from_before_a_name_was_used_again_gets_the_corpus_of_after_it(
    small_copy, tmp_path
):
    library, copy = small_copy.library, tmp_path / "copy.sqlite"
    small_copy.ledger.copy(copy)
    library.delete("small")
    library.add("small", [{"doc_id": "a", "text": "A tern. It was seen."}], lens=POSTS)
    row = small_copy.ledger.corpus("small")
    put_in_place(copy, small_copy)
    again = make_explorer(small_copy.home.root)
    assert again.library.rebuild() == (["small"], [])
    assert again.library.rebuild() == ([], [])
    assert row is not None
    assert again.ledger.corpus("small") == replace(row, created_at=ANY)
    assert again.search(Query("small", seed="a", aspect=POSTS.aspects[0].key)).results == ()


def test_the_ledger_is_copied_once_a_day_and_seven_copies_stay(small_copy):
    folder = small_copy.home.root / "ledger-copies"
    folder.mkdir()
    for day in range(1, 10):
        copy = folder / f"ledger-2026-01-0{day}.sqlite"
        copy.write_text("of before")
        os.utime(copy, (day, day))
    small_copy.tidy()
    small_copy.tidy()
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 7
    assert names[0] == "ledger-2026-01-04.sqlite"
    put_in_place(folder / names[-1], small_copy)
    assert make_explorer(small_copy.home.root).library.names() == ["small"]
    (folder / names[-1]).unlink()
    os.utime(folder / names[-2], (2e10, 2e10))
    small_copy.tidy()
    assert len(list(folder.iterdir())) == 6, "nobody wrote since the last copy"
