"""A home that cannot be written to: on a read-only disk, or somebody else's."""

import errno
import os
from pathlib import Path

import pytest

from engine.corpora.backup import back_up, verify
from engine.errors import StorageError
from engine.types.annotating import PoolRequest, Project
from engine.types.corpora import ImportRequest
from engine.types.searches import Query
from tests.support import make_explorer

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@pytest.fixture
def protected(small_copy, monkeypatch):
    """An explorer over a home that nothing of Python writes to; permissions do not stop root."""
    project = small_copy.annotation.save(Project("small", "p", first=1), "lead")
    small_copy.annotation.add_queries(
        project, [Query("small", seed="bees-network", aspect="method")]
    )
    small_copy.annotation.fill_pool(project, PoolRequest(("bm25",), 2))
    home = small_copy.home.root

    def refusing(real):
        def call(path, *args, **options):
            writes = real is not os.open or args[0] & WRITING
            if writes and Path(os.fsdecode(path)).is_relative_to(home):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            return real(path, *args, **options)

        return call

    for name in ("open", "mkdir", "rename", "replace", "unlink", "utime"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    return make_explorer(home)


def test_it_can_be_searched_and_backed_up(protected, tmp_path, caplog):
    before = protected.home.ledger.read_bytes()
    protected.start()
    assert protected.library.names() == ["small"]
    found = protected.search(Query("small", seed="bees-network", aspect="method", k=5))
    assert len(found.results) == 5
    own = protected.annotation.project("small")
    assert protected.annotation.share(own, "Ada", "a tab").next == [], "nothing is in its pool"
    project = protected.annotation.project("small", "p")
    assert len(protected.annotation.share(project, "Ada", "a tab").next) == 2
    back_up(protected.home, protected.ledger, tmp_path / "home.zip")
    assert verify(tmp_path / "home.zip").corpora == ("small",)
    assert protected.home.ledger.read_bytes() == before
    assert "cannot be written to" in caplog.text


def test_what_would_be_stored_is_refused_with_the_reason(protected, small_source):
    for act in (
        lambda: protected.notebook.put_text("Some text."),
        lambda: protected.library.delete("small"),
        lambda: protected.library.import_documents(ImportRequest(small_source, "other")),
    ):
        with pytest.raises(StorageError, match="written to"):
            act()
    assert protected.library.names() == ["small"]
