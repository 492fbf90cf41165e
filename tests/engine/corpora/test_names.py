"""Names of corpora: with spaces, and changed later."""

from pathlib import Path

import pytest

from engine.errors import BadInputError, SeedLensError
from engine.types.annotating import Project
from engine.types.callbacks import never, tell_nobody
from engine.types.corpora import ImportRequest
from engine.types.evaluations import Collection
from engine.types.searches import Query
from tests.support import make_explorer

ROWS = [{"doc_id": "a", "text": "Terns nest on the shore."}]


def test_a_renamed_corpus_keeps_all_that_belongs_to_it(small_copy):
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


def test_a_name_is_that_of_one_corpus_only(small_copy):
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


def test_a_name_never_leads_to_another_corpus(small_copy):
    library, rows = small_copy.library, [{**ROWS[0], "doc_id": "new"}]
    with (
        library.jobs.here(ImportRequest(rows, "birds"), "ada", tell_nobody, never),
        pytest.raises(BadInputError, match="Another corpus is called 'birds'"),
    ):
        library.rename("small", "birds")
    library.rename("small", "birds")
    collection = Collection("birds", (), {}, small_copy.home.root, "auto")
    with pytest.raises(BadInputError, match="Another corpus is called 'birds'"):
        library.import_collection(collection)
    library.import_documents(ImportRequest(rows, "birds"))  # as of a process that began before
    assert (library.corpus("birds").name, library.corpus("birds").documents) == ("birds", 1)


def test_a_corpus_in_place_of_a_deleted_one_has_the_name_that_was_typed(small_copy):
    library = small_copy.library
    library.rename("small", "birds")
    library.delete("birds")
    library.add("birds", ROWS)
    assert [one.title for one in library.corpora()] == ["birds"]


def test_an_old_name_and_a_new_one_lead_to_the_same_grades_and_lists(small_copy):
    library, notebook = small_copy.library, small_copy.notebook
    doc_id, other = library.open("small").doc_ids[:2]
    library.rename("small", "birds")
    notebook.judge(Query("birds", seed=other), doc_id, 2)
    assert notebook.grades(Query("small", seed=other)) == {doc_id: 2}
    assert notebook.grades(Query("birds", seed=other)) == {doc_id: 2}
    small_copy.annotation.save(Project("birds", "bees"), "ada")
    assert small_copy.annotation.project("small", "bees").corpus == "small"
    small_copy.reading_lists.keep("", "birds", doc_id)
    assert small_copy.reading_lists.ids("", "small") == {doc_id}
    assert f"(birds: {doc_id})" in small_copy.reading_lists.export("", "markdown")
    filters = (small_copy.select("birds", [doc_id]),)
    assert small_copy.search(Query("small", seed=other, filters=filters)).total == 1


def test_a_corpus_with_spaces_in_its_name_lives_like_any_other(fresh):
    name = "My papers 2024"
    assert fresh.library.add(name, ROWS).added == 1
    assert fresh.home.corpus(name) == Path(fresh.home.corpora, name)
    assert fresh.document(name, "a").text == ROWS[0]["text"]
    fresh.library.delete(name)
    fresh.library.restore(name)
    assert fresh.library.rebuild() == ([], [])
