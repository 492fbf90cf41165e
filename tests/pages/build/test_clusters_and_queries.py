"""Clusters and queries on the Build page: made, named, merged, worded and dropped in place."""

from dataclasses import replace

from engine.types.builds import Cluster, Overlap
from pages._build import build_tables, build_words
from tests.pages.build.build_steps import (
    HOSTILE,
    LENS,
    METHODS,
    named,
    open_row,
    opened,
    step,
    table,
    tick,
)
from tests.pages.visits import click, run, run_until, shown

# -- clusters ----------------------------------------------------------------------------------


def test_clusters_are_made_without_a_model_and_are_there_for_who_comes_back(labelled):
    page = step("clusters")
    assert "most central label" in shown(page)
    page.button(key="build_start_collapse").click()
    run_until(page, lambda: "Done" in shown(page), what="the clusters")
    _, rows = table(page, "build_clusters")
    assert {row["Cluster"] for row in rows} == set(METHODS.values())
    assert "Done" in shown(step("clusters")), "another visit sees how it ended"
    page.button(key="build_dismiss").click()
    assert "Done" not in shown(run(page))


def test_clusters_are_renamed_dropped_split_and_merged(clustered):
    page = step("clusters")
    post = named(clustered, "asking by post")
    open_row(page, "build_clusters", post.key)
    page.text_input(key=f"build_name_small_methods_{post.key}").set_value("Questionnaires")
    run(page)
    assert named(clustered, "Questionnaires").doc_ids == post.doc_ids
    click(page, "build_drop")
    assert named(clustered, "Questionnaires").dropped
    assert "1 excluded" in shown(page)
    click(page, "build_drop")
    assert not named(clustered, "Questionnaires").dropped

    assert page.button(key="build_move_button").disabled, "nothing is ticked"
    tick(page, "build_members", [0, 1])
    assert page.text_input(key="build_move_name").value == "asking by post", "their label"
    page.text_input(key="build_move_name").set_value("")
    run(page)
    click(page, "build_move_button")
    assert "The new cluster has no name." in shown(page)
    page.text_input(key="build_move_name").set_value("The first two")
    run(page)
    click(page, "build_move_button")
    assert named(clustered, "The first two").doc_ids == post.doc_ids[:2]

    other = named(clustered, "devices left in place")
    tick(page, "build_members", [0])
    page.selectbox(key="build_move_to").set_value(other.key)
    click(page, "build_move_button")
    assert post.doc_ids[2] in named(clustered, "devices left in place").doc_ids

    keys = [c.key for c in opened(clustered).clusters()]
    tick(page, "build_clusters", [keys.index(post.key), keys.index(other.key)])
    merging = next(t for t in page.text_input if t.label == "Name of the merged cluster")
    merging.set_value("All the rest")
    next(b for b in page.button if b.label == "Merge").click()
    run(page)
    names = {c.name for c in opened(clustered).clusters()}
    assert names == {"The first two", "All the rest"}


def test_what_becomes_of_a_cluster_is_said_with_its_reason():
    sizes = {"a": 1, "b": 2, "c": 3, "d": 10}
    clusters = [Cluster(k, k, tuple(map(str, range(n))), k in "acd") for k, n in sizes.items()]
    fates = [build_words.fate(cluster, LENS) for cluster in clusters]
    assert fates == ["too small", "a query", "excluded", "too large"]


# -- queries -----------------------------------------------------------------------------------


def test_a_query_is_written_checked_and_dropped(clustered):
    page = step("queries")
    assert "2 without query text" in shown(page)
    post = named(clustered, "asking by post")
    open_row(page, "build_queries", post.key)
    box = f"build_text_small_methods_{post.key}"
    page.text_area(key=box).set_value("Questionnaires mailed to households")
    click(page, "build_query_check")
    assert "Over limit" in shown(page)
    assert "Not saved yet." in shown(page)
    assert opened(clustered).queries() == []
    page.text_area(key=box).set_value("Who lets people answer at home")
    click(page, "build_query_save")
    [query] = opened(clustered).queries()
    assert (query.text, query.maker) == ("Who lets people answer at home", "person")
    assert "Not saved yet." not in shown(page)
    click(page, "build_query_drop")
    assert opened(clustered).queries()[0].dropped


def test_words_that_give_documents_away_are_marked_in_the_query():
    overlap = Overlap(0.5, ("Tides",))
    said = build_tables.overlap_html(f"tides and {HOSTILE}", overlap, LENS, is_new=False)
    assert "<mark>tides</mark>" in said
    assert "Over limit" in said
    assert "<img" not in said
    assert not build_tables.is_above(Overlap(0.3), replace(LENS, overlap=0.3))
