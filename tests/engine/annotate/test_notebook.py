"""Trails, reading lists and saved searches come back as they were left."""

from __future__ import annotations

from engine.explorer import Explorer
from engine.types.searches import Query

NASTY = "O'Brien\"; DROP TABLE judgments; -- 🌱 naïve 漢字 \\ %s $corpus ?"


def search(seed: str) -> Query:
    return Query("small", seed=seed, aspect="method")


def test_a_trail_keeps_its_order_and_skips_a_repeated_search(small_copy: Explorer) -> None:
    notebook, (a, b, *_) = small_copy.notebook, small_copy.library.open("small").doc_ids
    for seed in (a, a, b, a):
        notebook.add_step("t", search(seed))
    notebook.add_step("other", search(b))
    assert notebook.trail("t") == [search(a), search(b), search(a)]
    assert notebook.trail("nobody's") == []


def test_a_reading_list_has_an_order_and_notes_which_a_removal_does_not_lose(
    small_copy: Explorer,
) -> None:
    notebook, (a, b, c, d, *_) = small_copy.notebook, small_copy.library.open("small").doc_ids

    def kept(trail: str = "t") -> list[tuple[str, str]]:
        return [(one.document.doc_id, one.note) for one in notebook.kept(trail)]

    for doc_id in (a, b, c, a):
        notebook.keep("t", "small", doc_id)
    notebook.keep("other", "small", b)
    notebook.annotate("t", "small", c, NASTY)
    notebook.annotate("t", "small", d, "lost")
    for _ in range(3):
        notebook.move("t", "small", c, -1)
    assert kept() == [(c, NASTY), (a, ""), (b, "")]
    for doc_id in (c, d):
        notebook.keep("t", "small", doc_id, kept=False)
    assert kept() == [(a, ""), (b, "")]
    for doc_id in (c, d):
        notebook.keep("t", "small", doc_id)
    assert kept() == [(c, NASTY), (a, ""), (b, ""), (d, "")]
    assert kept("other") == [(b, "")]


def test_trails_are_listed_by_owner_with_the_latest_first_until_they_are_deleted(
    small_copy: Explorer,
) -> None:
    notebook, (a, b, *_) = small_copy.notebook, small_copy.library.open("small").doc_ids
    for trail, seeds in {"one": [a, b, a], "two": [a], "passing": [b], "hers": [a]}.items():
        for seed in seeds:
            notebook.add_step(trail, search(seed))
    notebook.keep("two", "small", b)
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
    notebook.keep("one", "small", b)
    notebook.add_step("one", search(a))
    assert [(one.trail_id, one.time) for one in notebook.trails("")] == listed, "no new search"
    assert [trail_id for trail_id, _ in listed] == ["two", "one"]


def test_a_saved_search_is_renamed_removed_and_belongs_to_one_owner(small_copy: Explorer) -> None:
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
