"""Names of corpora: with spaces, and changed later."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import SeedLensError
from engine.explorer import Explorer
from engine.types.annotating import Project
from engine.types.searches import Query
from tests.support import make_explorer

ROWS = [{"doc_id": "a", "text": "Terns nest on the shore."}]


def test_a_renamed_corpus_keeps_all_that_belongs_to_it(small_copy: Explorer) -> None:
    library = small_copy.library
    small_copy.annotation.save(Project("small", "bees"), "ada")
    library.rename("small", " My papers 2024 ")
    info = library.corpus("My papers 2024")
    assert (info.name, info.title, library.names()) == ("small", "My papers 2024", ["small"])
    again = make_explorer(small_copy.home.root)
    for name in ("small", "My papers 2024"):
        query = Query(name, text="bees", system="bm25")
        assert again.search(query).results
        assert again.library.add(name, [{**ROWS[0], "doc_id": name[:1]}]).corpus == "small"
    assert [one.name for one in again.annotation.projects(again.library.stored_name("small"))]
    library.delete("My papers 2024")
    assert library.deleted() == ["small"]
    library.restore("small")
    library.rename("My papers 2024", "small")
    assert library.titles() == {"small": "small"}


def test_a_name_is_that_of_one_corpus_only(small_copy: Explorer) -> None:
    library = small_copy.library
    library.add("other", ROWS)
    library.rename("small", "bees")
    for name, wrong in (
        ("other", "bees"),
        ("other", "small"),
        ("small", "other"),
        ("small", "a/b"),
    ):
        with pytest.raises(SeedLensError, match="name"):
            library.rename(name, wrong)
    with pytest.raises(SeedLensError, match="Known: other, bees"):
        library.corpus("none")


def test_a_corpus_with_spaces_in_its_name_lives_like_any_other(fresh: Explorer) -> None:
    name = "My papers 2024"
    assert fresh.library.add(name, ROWS).added == 1
    assert fresh.home.corpus(name) == Path(fresh.home.corpora, name)
    assert fresh.document(name, "a").text == ROWS[0]["text"]
    fresh.library.delete(name)
    fresh.library.restore(name)
    assert fresh.library.rebuild() == ([], [])
