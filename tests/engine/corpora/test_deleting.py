"""Deleting a corpus, and changing one's mind."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from engine.corpora.uploads import KEPT_DAYS
from engine.errors import UnknownNameError
from engine.explorer import Explorer
from engine.types.corpora import ImportRequest


def test_a_deleted_corpus_is_gone_until_it_is_brought_back(small_copy: Explorer) -> None:
    library = small_copy.library
    before = library.corpus("small")
    library.delete("small")
    assert library.names() == []
    assert library.deleted() == ["small"]
    library.restore("small")
    assert library.deleted() == []
    assert library.corpus("small").documents == before.documents
    assert library.corpus("small").state == "ready"


def test_a_crash_between_the_note_and_the_move_loses_nothing(
    small_copy: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    documents = small_copy.library.corpus("small").documents
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "move", crash)
        with pytest.raises(KeyboardInterrupt):
            small_copy.library.delete("small")
    assert small_copy.library.deleted() == ["small"]
    small_copy.library.restore("small")
    assert small_copy.library.corpus("small").documents == documents


def test_emptying_the_trash_is_final(small_copy: Explorer) -> None:
    small_copy.library.delete("small")
    small_copy.library.empty_trash()
    assert not small_copy.home.corpus("small").exists()
    assert not small_copy.home.trash.exists()
    with pytest.raises(UnknownNameError):
        small_copy.library.restore("small")


def test_old_uploads_go_unless_a_corpus_was_made_of_them(small_copy: Explorer) -> None:
    library = small_copy.library
    text = b'{"doc_id": "1", "text": "One sentence that is kept."}\n'
    used, unused, recent = (
        library.save_upload(f"{name}.jsonl", text + b"\n" * number)
        for number, name in enumerate(("used", "unused", "recent"))
    )
    library.import_documents(ImportRequest(used, "kept"))
    long_ago = time.time() - (KEPT_DAYS + 1) * 24 * 3600
    for path in (used, unused):
        os.utime(path, (long_ago, long_ago))
    library.empty_trash()
    assert [path.exists() for path in (used, unused, recent)] == [True, False, True]
    library.delete("kept")
    library.empty_trash()
    assert not used.exists()


def test_a_damaged_corpus_is_listed_beside_its_sound_neighbours(small_copy: Explorer) -> None:
    for file in small_copy.home.corpus("small").rglob("*.manifest"):
        file.write_bytes(b"not a manifest")
    (info,) = small_copy.library.corpora()
    assert (info.name, info.state) == ("small", "damaged")
