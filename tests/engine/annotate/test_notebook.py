"""Trails, reading lists and saved searches come back as they were left."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.explorations.notebook import Item, Trail
from engine.types.searches import Query

NASTY = "O'Brien\"; DROP TABLE judgments; -- 🌱 naïve 漢字 \\ %s $corpus ?"


def search(seed):
    return Query("small", seed=seed, aspect="method")


def test_a_trail_keeps_its_order_and_skips_a_repeated_search(small_copy):
    notebook, (a, b, *_) = small_copy.notebook, small_copy.library.open("small").doc_ids
    for seed in (a, a, b, a):
        notebook.add_step("t", search(seed))
    notebook.add_step("other", search(b))
    assert notebook.trail("t") == [search(a), search(b), search(a)]
    assert notebook.trail("nobody's") == []


def test_a_reading_list_has_an_order_and_notes_which_a_removal_does_not_lose(small_copy):
    lists, (a, b, c, d, *_) = small_copy.reading_lists, small_copy.library.open("small").doc_ids

    def kept(list_id="", **how):
        return [(one.document.doc_id, one.note) for one in lists.documents(list_id, **how)]

    other = lists.new("Other")
    for doc_id in (a, b, c, a):
        lists.keep("", "small", doc_id)
    lists.keep(other, "small", b)
    lists.annotate("", "small", c, NASTY)
    lists.move("", "small", c, ("small", a))
    assert kept() == [(c, NASTY), (a, ""), (b, "")]
    lists.remove("", "small", c)
    assert kept() == [(a, ""), (b, "")]
    lists.keep("", "small", c, d)
    lists.move("", "small", a)
    assert kept() == [(c, NASTY), (b, ""), (d, ""), (a, "")]
    lists.annotate("", "small", b, "mine", before="")
    lists.annotate("", "small", b, "hers", before="")
    assert kept()[1] == (b, "mine\nhers"), "what two wrote at once is kept"
    assert lists.ids("", "small") == {a, b, c, d}
    assert kept(other) == [(b, "")]
    titles = [one.document.title for one in lists.documents("", order="title")]
    assert titles == sorted(titles, key=str.casefold)
    years = [one.document.year or 0 for one in lists.documents("", order="year")]
    assert years == sorted(years, reverse=True)
    with pytest.raises(UnknownNameError, match="is not on the list"):
        lists.annotate(other, "small", a, "lost")


def test_documents_have_tags_and_go_to_other_lists_with_what_was_written_on_them(small_copy):
    lists, (a, b, *_) = small_copy.reading_lists, small_copy.library.open("small").doc_ids
    evidence = ("Its words.", "Their words.")
    lists.keep("", "small", a, trail="t", query=search(b), evidence=evidence)
    lists.keep("", "small", b)
    lists.annotate("", "small", a, "first")
    lists.tag("", "small", a, f"later, to read ,later,{NASTY}")
    lists.tag("", "small", a, "later", tagged=False)
    assert lists.info().tags == tuple(sorted(("to read", NASTY), key=str.casefold))
    target = lists.new("Target")
    lists.keep(target, "small", a)
    lists.annotate(target, "small", a, "second")
    lists.send("", "small", a, target, copy=True)
    lists.send("", "small", b, target)
    (left,) = lists.documents()
    first, second = lists.documents(target)
    assert (left.document.doc_id, second.document.doc_id) == (a, b)
    assert (first.query, first.evidence) == (search(b), evidence)
    assert (first.note, first.tags) == ("second\nfirst", ("to read", NASTY))
    assert [one.document.doc_id for one in lists.documents(target, tag="to read")] == [a]
    assert [one.tags for one in lists.lists()] == [first.tags[::-1], first.tags[::-1]]


def test_what_several_people_keep_and_write_at_once_is_all_there(small_copy):
    lists, doc_ids = small_copy.reading_lists, small_copy.library.open("small").doc_ids[:16]

    def work(doc_id):
        lists.keep("", "small", doc_id)
        lists.annotate("", "small", doc_id, f"on {doc_id}", before="")
        lists.move("", "small", doc_id, ("small", doc_ids[0]))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, doc_ids))
    assert {one.document.doc_id: one.note for one in lists.documents()} == {
        doc_id: f"on {doc_id}" for doc_id in doc_ids
    }
    assert [one.documents for one in lists.lists()] == [16]


def test_a_document_that_is_kept_again_counts_for_each_trail_and_seed(small_copy):
    lists, (a, b, c, *_) = small_copy.reading_lists, small_copy.library.open("small").doc_ids
    for trail, seed in (("one", b), ("two", c), ("two", c)):
        small_copy.notebook.add_step(trail, search(seed))
        lists.keep("", "small", a, trail=trail, query=search(seed), evidence=(seed, a))
    lists.keep("", "small", a)
    for trail, seed in (("one", b), ("two", c)):
        assert [kept.document.doc_id for kept in lists.kept_on(trail)] == [a]
        assert lists.found_from("", search(seed)) == [a]
    assert sorted(lists.trails_of_items("")) == ["one", "two"]
    (kept,) = lists.documents()
    assert (kept.query, kept.evidence) == (search(c), (c, a))


def test_a_document_that_was_sent_to_a_list_that_has_it_loses_nothing(small_copy):
    lists, (a, b, *_) = small_copy.reading_lists, small_copy.library.open("small").doc_ids
    target = lists.new("Target")
    small_copy.notebook.add_step("t", search(b))
    lists.keep("", "small", a)
    lists.annotate("", "small", a, "first")
    lists.keep(target, "small", a, trail="t", query=search(b), evidence=("one", "other"))
    lists.annotate(target, "small", a, "second")
    before = [lists.documents(), lists.documents(target)]
    undo = lists.send("", "small", a, target)
    (kept,) = lists.documents(target)
    assert (kept.query, kept.evidence) == (search(b), ("one", "other"))
    assert (kept.note, lists.kept_on("t")) == ("second\nfirst", [kept])
    undo()
    assert [lists.documents(), lists.documents(target)] == before


def test_the_first_list_is_there_though_only_its_id_was_stored(small_copy):
    small_copy.ledger.documents("first reading list", str).put("", "id")  # then a kill
    lists, doc_id = small_copy.reading_lists, small_copy.library.open("small").doc_ids[0]
    assert [one.list_id for one in lists.lists()] == ["id"]
    lists.keep("id", "small", doc_id)
    assert lists.ids("", "small") == {doc_id}


def test_a_list_has_the_documents_of_an_unfinished_corpus_and_none_of_a_deleted_one(small_copy):
    library, lists = small_copy.library, small_copy.reading_lists
    doc_id = library.open("small").doc_ids[0]
    lists.keep("", "small", doc_id)
    row = small_copy.ledger.corpus("small")
    small_copy.ledger.put_corpus(replace(row, state="indexing", expected=99))
    assert [one.document.doc_id for one in lists.documents()] == [doc_id]
    library.delete("small")
    assert lists.documents() == []


def test_lists_have_different_names_and_come_back_after_a_deletion(small_copy):
    lists = small_copy.reading_lists
    one = lists.new("  bees\x00 ")
    for name in ("Bees", "reading LIST", " "):
        with pytest.raises(BadInputError):
            lists.new(name)
    lists.rename(one, "BEES")
    lists.new("Ants", one)
    assert [(each.name, each.list_id) for each in lists.lists()][::2] == [
        ("Reading list", ""), ("BEES", one),
    ]  # fmt: skip
    assert lists.named("bees").list_id == lists.named(one).list_id == one
    lists.delete(one)
    assert [each.name for each in lists.lists()] == ["Reading list", "Ants"]
    lists.delete(one, deleted=False)
    assert len(lists.lists()) == 3
    with pytest.raises(BadInputError, match="first list cannot"):
        lists.delete("")
    with pytest.raises(UnknownNameError):
        lists.documents("nobody's")


def test_what_a_trail_of_before_kept_is_a_list_that_outlives_it(small_copy):
    a, b, *_ = small_copy.library.open("small").doc_ids
    trails = small_copy.ledger.documents("trail", Trail)
    items = (Item("small", a, "old"), Item("small", b, kept=False))
    for trail_id, deleted in (("old", False), ("gone", True)):
        trails.put(trail_id, Trail("", deleted, (search(b),), items))
    lists, notebook = small_copy.reading_lists, small_copy.notebook
    assert [one.list_id for one in lists.lists()] == ["", "old"]
    assert lists.info("old").name.startswith("Trail: ")
    assert [(one.trail_id, one.kept) for one in notebook.trails()] == [("old", 1)]
    notebook.delete_trail("old")
    lists.tag("old", "small", a, "new")
    (found,) = lists.documents("old")
    assert (found.document.doc_id, found.note, found.tags) == (a, "old", ("new",))
    assert [one.list_id for one in lists.lists()] == ["", "old"]
    assert lists.kept_on("old") == [found]
    assert len(lists.kept_on("gone")) == 1


def test_trails_are_listed_by_owner_with_the_latest_first_until_they_are_deleted(small_copy):
    notebook, (a, b, *_) = small_copy.notebook, small_copy.library.open("small").doc_ids
    for trail, seeds in {"one": [a, b, a], "two": [a], "passing": [b], "hers": [a]}.items():
        for seed in seeds:
            notebook.add_step(trail, search(seed))
    small_copy.reading_lists.keep("", "small", b, trail="two")
    notebook.name_trail("hers", NASTY, "ada")
    counts = [(one.trail_id, one.searches, one.kept) for one in notebook.trails("")]
    assert counts == [("two", 1, 1), ("one", 3, 0)]
    assert [(one.trail_id, one.name) for one in notebook.trails("ada")] == [("hers", NASTY)]
    assert len(notebook.trails()) == 3
    one = notebook.trails("")[1]
    assert one.seeds == tuple(map(notebook.seed_title, [search(a), search(b)]))
    notebook.delete_trail("two")
    assert [one.trail_id for one in notebook.trails("")] == ["one"]
    notebook.delete_trail("two", deleted=False)
    listed = [(one.trail_id, one.time) for one in notebook.trails("")]
    small_copy.reading_lists.keep("", "small", b, trail="one")
    notebook.add_step("one", search(a))
    assert [(one.trail_id, one.time) for one in notebook.trails("")] == listed, "no new search"
    assert [trail_id for trail_id, _ in listed] == ["two", "one"]


def test_a_saved_search_is_renamed_removed_and_belongs_to_one_owner(small_copy):
    notebook = small_copy.notebook
    notebook.save_search("first", "?seed=a")
    notebook.save_search("second", "?seed=b")
    notebook.save_search("hers", "?seed=a", "ada")
    notebook.save_search(NASTY, "?seed=a")
    saved = [(one.name, one.link) for one in notebook.saved_searches()]
    assert saved == [(NASTY, "?seed=a"), ("second", "?seed=b")]
    notebook.save_search(NASTY, "?seed=a", saved=False)
    assert [one.name for one in notebook.saved_searches()] == ["second"]
    assert [one.name for one in notebook.saved_searches("ada")] == ["hers"]
