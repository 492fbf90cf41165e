"""The Build page: a lens is described, and what its steps made is read and mended in place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.config import ROOT
from engine.explorer import Explorer
from engine.types import (
    BuildLens,
    BuildQuery,
    Cluster,
    Document,
    Label,
    Overlap,
    StepEstimate,
    StepJob,
    StepProgress,
    StepReport,
    StepState,
)
from pages import _build_labels, _build_lines, _build_queries
from pages._build_reading import document_html
from pages._build_result import provenance_html
from pages._build_view import SHOWN_BY
from tests.build_answers import builds_collections, small_methods
from tests.judging import knowledge
from tests.lens_builds import session
from tests.model_answers import MODEL
from tests.model_server import serving

LENS = BuildLens("small", "methods", "How they went about it.", smallest=2, largest=9)
METHODS = {"survey": "asking by post", "sensor": "devices left in place"}
HOSTILE = '<img src="http://192.0.2.1/x.png"> **bold** $x$'


@pytest.fixture(autouse=True)
def _no_cache_outlives_a_test() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def explorer(small_copy: Explorer) -> Explorer:
    """An explorer over this test's home, which the page opens too; no model is connected."""
    return small_copy


@pytest.fixture
def labelled(explorer: Explorer) -> Explorer:
    """With a build whose documents a person labelled."""
    explorer.builds.save(LENS, "ada")
    explorer.builds.set_labels("small", "methods", hand_labels(explorer), "ada")
    return explorer


@pytest.fixture
def clustered(labelled: Explorer) -> Explorer:
    """With its clusters, made without a model."""
    labelled.builds.run("small", "methods", "collapse", "ada")
    return labelled


@pytest.fixture
def built(explorer: Explorer) -> Explorer:
    """With a build that a model made to the end."""
    explorer.builds.save(LENS, "ada")
    with serving(knowledge(), handlers=[builds_collections(small_methods())]) as server:
        for step in explorer.builds.steps:
            explorer.builds.run("small", "methods", step, "ada", session=session(server))
    return explorer


def hand_labels(explorer: Explorer) -> dict[str, str]:
    found = {}
    for doc_id in explorer.library.open("small").doc_ids:
        method = next((m for m in METHODS if doc_id.endswith(m)), "")
        found[doc_id] = METHODS.get(method, "")
    return found


def visit(**params: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "pages" / "build.py"), default_timeout=60)
    for name, value in {"corpus": "small", **params}.items():
        page.query_params[name] = value
    return run(page)


def step(name: str) -> AppTest:
    return visit(build="methods", step=name)


def run(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception, page.exception
    return page


def shown(page: AppTest) -> str:
    return "\n".join(e.value for e in page.get("html"))


def table(page: AppTest, place: str) -> tuple[str, list[dict[str, Any]]]:
    """The widget's key and the rows of the table of this name."""
    found = next(e for e in page.dataframe if (e.key or "").startswith(f"{place}_"))
    return str(found.key), found.value.to_dict("records")


def open_row(page: AppTest, place: str, key: str) -> AppTest:
    page.session_state[f"{place}_open"] = key
    return run(page)


def tick(page: AppTest, place: str, rows: list[int]) -> AppTest:
    key, _ = table(page, place)
    page.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return run(page)


def named(explorer: Explorer, name: str) -> Cluster:
    return next(c for c in explorer.builds.clusters("small", "methods") if c.name == name)


# -- the lens ----------------------------------------------------------------------------------


def test_a_lens_becomes_a_build_and_what_is_wrong_with_it_keeps_what_was_typed(
    explorer: Explorer,
) -> None:
    page = visit()
    page.text_area(key="build_attribute_new").set_value("How they went about it.")
    page.text_area(key="build_examples_new").set_value("asking by post\n\nasking by post\nmeshes")
    page.button(key="build_save_new").click()
    run(page)
    assert "The collection has no name." in shown(page)
    assert explorer.builds.names() == []
    assert page.text_area(key="build_attribute_new").value == "How they went about it."

    page.text_input(key="build_name_new").set_value("methods")
    page.selectbox(key="build_aspect_new").set_value("method")
    page.number_input(key="build_limit_new").set_value(30)
    page.button(key="build_save_new").click()
    run(page)
    saved = explorer.builds.state("small", "methods").lens
    assert (saved.examples, saved.aspect, saved.limit) == (
        ("asking by post", "meshes"),
        "method",
        30,
    )
    assert page.query_params == {"corpus": "small", "build": "methods", "step": "labels"}
    assert "30 documents to be read." in shown(page)
    page = step("lens")
    assert "Saved." not in shown(page), "nothing was changed here"
    page.button(key="build_save_small_methods").click()
    assert "Nothing was changed" in shown(run(page))


def test_a_changed_lens_makes_what_a_model_said_stale_and_a_link_opens_the_step(
    labelled: Explorer,
) -> None:
    page = step("lens")
    assert page.text_area(key="build_attribute_small_methods").value == LENS.attribute
    page.slider(key="build_overlap_small_methods").set_value(45)
    page.button(key="build_save_small_methods").click()
    run(page)
    assert labelled.builds.state("small", "methods").lens.overlap == 0.45
    assert "Saved." in shown(page)
    assert "Saved." not in shown(run(page))


def test_a_page_without_a_build_lists_those_that_there_are(labelled: Explorer) -> None:
    page = visit()
    assert LENS.attribute in shown(page)
    page.button(key="build_open_methods").click()
    run(page)
    assert page.query_params["build"] == "methods"
    waiting = labelled.builds.state("small", "methods").next
    assert waiting is not None
    assert page.query_params["step"] == SHOWN_BY[waiting], "where the build stands"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"build": "gone"}, "It has methods."),
        ({"corpus": "gone"}, "gone"),
        ({"build": "methods", "step": "elsewhere"}, "there is no step"),
    ],
)
def test_a_link_that_leads_nowhere_says_so(
    labelled: Explorer, params: dict[str, str], says: str
) -> None:
    page = visit(**params)
    assert says in shown(page)
    assert page.text_area(key="build_attribute_new"), "a new build can be described"


# -- labels ------------------------------------------------------------------------------------


def test_without_a_model_running_says_how_to_connect_one_and_labels_can_be_given_by_hand(
    explorer: Explorer,
) -> None:
    explorer.builds.save(LENS, "ada")
    page = step("labels")
    assert page.button(key="build_start_label").disabled
    assert "No language model is connected." in shown(page)
    doc_id = explorer.library.open("small").doc_ids[0]
    open_row(page, "build_labels", doc_id)
    assert "Nobody has read it yet." in shown(page)
    page.text_input(key="build_who").set_value("grace")
    run(page)
    page.text_input(key=f"build_label_small_methods_{doc_id}").set_value("  by hand ")
    run(page)
    [label] = explorer.builds.labels("small", "methods")
    assert (label.text, label.maker, label.author) == ("by hand", "person", "grace")


def test_ticked_documents_get_one_label_and_a_document_can_be_said_not_to_show_it(
    labelled: Explorer,
) -> None:
    page = step("labels")
    _, rows = table(page, "build_labels")
    assert len(rows) == len(labelled.library.open("small"))
    tick(page, "build_labels", [0, 2])
    page.text_input(key="build_label_chosen").set_value("both alike")
    next(b for b in page.button if b.label == "Give it to them").click()
    run(page)
    labels = labelled.builds.labels("small", "methods")
    assert [labels[0].text, labels[2].text] == ["both alike", "both alike"]
    open_row(page, "build_labels", labels[0].doc_id)
    page.button(key="build_label_none").click()
    run(page)
    assert labelled.builds.labels("small", "methods")[0].text == ""


def test_a_label_of_before_can_be_said_to_hold_still(labelled: Explorer) -> None:
    labelled.builds.save(replace(LENS, guidance="Only their own."), "ada")
    doc_id = labelled.library.open("small").doc_ids[0]
    page = open_row(step("labels"), "build_labels", doc_id)
    assert table(page, "build_labels")[1][0]["Outdated"] == "yes"
    text = labelled.builds.labels("small", "methods")[0].text
    page.text_input(key="build_who").set_value("grace")
    run(page)
    page.button(key="build_label_same").click()
    run(page)
    label = labelled.builds.labels("small", "methods")[0]
    assert (label.text, label.author, label.outdated) == (text, "grace", False)
    assert table(page, "build_labels")[1][0]["Outdated"] == ""


def test_labels_are_found_by_their_kind_and_by_words(labelled: Explorer) -> None:
    page = step("labels")
    page.text_input(key="build_words_labels").set_value("POST bees")
    run(page)
    _, rows = table(page, "build_labels")
    assert [row["Document"] for row in rows] == ["Bees by survey"]
    page.text_input(key="build_words_labels").set_value("no such words")
    run(page)
    assert "No document is like that." in shown(page)


def test_a_document_is_shown_as_text_with_its_quote_marked() -> None:
    document = Document("d", f"Bees {HOSTILE}", f"They fly.  {HOSTILE} They\nreturn.", ())
    shown = document_html(document, "they return.", "Document")
    assert "<img" not in shown
    assert "<mark>They\nreturn.</mark>" in shown
    elsewhere = document_html(document, "<b>not in it</b>", "Document")
    assert "“&lt;b&gt;not in it&lt;/b&gt;”" in elsewhere


# -- clusters ----------------------------------------------------------------------------------


def test_clusters_are_made_without_a_model_and_are_there_for_who_comes_back(
    labelled: Explorer,
) -> None:
    page = step("clusters")
    assert "most central label" in shown(page)
    page.button(key="build_start_collapse").click()
    deadline = time.monotonic() + 240
    while "Done" not in shown(run(page)):
        assert time.monotonic() < deadline, shown(page)
        time.sleep(0.1)
    _, rows = table(page, "build_clusters")
    assert {row["Cluster"] for row in rows} == set(METHODS.values())
    assert "Done" in shown(step("clusters")), "another visit sees how it ended"
    page.button(key="build_dismiss").click()
    assert "Done" not in shown(run(page))


def test_clusters_are_renamed_dropped_split_and_merged(clustered: Explorer) -> None:
    page = step("clusters")
    post = named(clustered, "asking by post")
    open_row(page, "build_clusters", post.key)
    page.text_input(key=f"build_name_small_methods_{post.key}").set_value("Questionnaires")
    run(page)
    assert named(clustered, "Questionnaires").doc_ids == post.doc_ids
    page.button(key="build_drop").click()
    run(page)
    assert named(clustered, "Questionnaires").dropped
    assert "1 dropped by people" in shown(page)
    page.button(key="build_drop").click()
    run(page)
    assert not named(clustered, "Questionnaires").dropped

    assert page.button(key="build_move_button").disabled, "nothing is ticked"
    tick(page, "build_members", [0, 1])
    assert page.text_input(key="build_move_name").value == "asking by post", "their label"
    page.text_input(key="build_move_name").set_value("")
    run(page)
    page.button(key="build_move_button").click()
    run(page)
    assert "The new cluster has no name." in shown(page)
    page.text_input(key="build_move_name").set_value("The first two")
    run(page)
    page.button(key="build_move_button").click()
    run(page)
    assert named(clustered, "The first two").doc_ids == post.doc_ids[:2]

    other = named(clustered, "devices left in place")
    tick(page, "build_members", [0])
    page.selectbox(key="build_move_to").set_value(other.key)
    page.button(key="build_move_button").click()
    run(page)
    assert post.doc_ids[2] in named(clustered, "devices left in place").doc_ids

    keys = [c.key for c in clustered.builds.clusters("small", "methods")]
    tick(page, "build_clusters", [keys.index(post.key), keys.index(other.key)])
    merging = next(t for t in page.text_input if t.label == "Name of the merged cluster")
    merging.set_value("All the rest")
    next(b for b in page.button if b.label == "Merge them").click()
    run(page)
    names = {c.name for c in clustered.builds.clusters("small", "methods")}
    assert names == {"The first two", "All the rest"}


def test_what_becomes_of_a_cluster_is_said_with_its_reason() -> None:
    sizes = {"a": 1, "b": 2, "c": 3, "d": 10}
    clusters = [Cluster(k, k, tuple(map(str, range(n))), k in "acd") for k, n in sizes.items()]
    fates = [_build_lines.fate(cluster, LENS) for cluster in clusters]
    assert fates == ["too small", "a query", "dropped", "too large"]
    said = _build_lines.cluster_facts(clusters, LENS)
    assert said.startswith("4 clusters: 1 becomes a query, 1 too small (fewer than 2 documents)")
    assert _build_lines.cluster_facts([clusters[1]], LENS) == "1 cluster, and it becomes a query."


# -- queries -----------------------------------------------------------------------------------


def test_a_query_is_written_checked_and_dropped(clustered: Explorer) -> None:
    page = step("queries")
    assert "2 clusters not worded yet" in shown(page)
    post = named(clustered, "asking by post")
    open_row(page, "build_queries", post.key)
    box = f"build_text_small_methods_{post.key}"
    page.text_area(key=box).set_value("Questionnaires mailed to households")
    page.button(key="build_query_check").click()
    run(page)
    assert "Above the limit" in shown(page)
    assert "Not saved yet." in shown(page)
    assert clustered.builds.queries("small", "methods") == []
    page.text_area(key=box).set_value("Who lets people answer at home")
    page.button(key="build_query_save").click()
    run(page)
    [query] = clustered.builds.queries("small", "methods")
    assert (query.text, query.maker) == ("Who lets people answer at home", "person")
    assert "Not saved yet." not in shown(page)
    page.button(key="build_query_drop").click()
    run(page)
    assert clustered.builds.queries("small", "methods")[0].dropped


def test_words_that_give_documents_away_are_marked_in_the_query() -> None:
    overlap = Overlap(0.5, ("Tides",))
    said = _build_queries.overlap_html(f"tides and {HOSTILE}", overlap, LENS, is_new=False)
    assert "<mark>tides</mark>" in said
    assert "Above the limit" in said
    assert "<img" not in said
    assert not _build_queries.is_above(Overlap(0.3), replace(LENS, overlap=0.3))


def test_the_facts_of_queries_leave_dropped_ones_out() -> None:
    kept = BuildQuery("a", "one", ("1",), Overlap(0.4))
    gone = BuildQuery("b", "two", ("2",), Overlap(0.9), dropped=True)
    said = _build_queries.facts([kept, gone], LENS)
    assert "2 queries, 1 dropped" in said
    assert "40 % of the kept one's words" in said
    assert "it is above the limit of 30 %" in said


# -- the result, and steps in words --------------------------------------------------------------


def test_a_step_says_what_has_to_come_first(explorer: Explorer) -> None:
    explorer.builds.save(LENS, "ada")
    page = step("result")
    assert "First comes step 2, Labels." in shown(page), "the earliest one"
    page.button(key="build_first_labels").click()
    assert run(page).query_params["step"] == "labels"


def test_labels_that_show_nothing_are_no_dead_end(explorer: Explorer) -> None:
    explorer.builds.save(LENS, "ada")
    nothing = dict.fromkeys(explorer.library.open("small").doc_ids, "")
    explorer.builds.set_labels("small", "methods", nothing, "ada")
    page = step("labels")
    assert page.button(key="build_way").label == "Go on to the clusters"
    page.button(key="build_way").click()
    assert "No document shows it, so there is nothing to cluster." in shown(run(page))
    page.button(key="build_first_lens").click()
    assert run(page).query_params["step"] == "lens"


def test_a_run_can_be_seen_and_ended_from_steps_that_cannot_run_yet(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(_: str, __: Any) -> None:
        time.sleep(0.2)

    with serving(knowledge(), handlers=[late, builds_collections(small_methods())]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("SEEDLENS_LLM_MODEL", MODEL)
        explorer.builds.save(LENS, "ada")
        page = step("labels")
        page.button(key="build_start_label").click()
        run(page)
        for name in ("lens", "result"):
            page = step(name)
            assert "Labelling" in shown(page)
            assert page.button(key="build_show").label == "Show Labels"
        page.button(key="build_cancel").click()
        deadline = time.monotonic() + 60
        while "Labelling" in shown(run(page)):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_steps_after_one_that_changed_do_not_say_that_all_is_done(built: Explorer) -> None:
    page = step("result")
    assert "Not up to date" not in shown(page)
    key = built.builds.clusters("small", "methods")[0].key
    built.builds.set_query("small", "methods", key, "ada", text="Whoever went about it so")
    built.builds.save(replace(LENS, guidance="Only their own."), "ada")
    state = built.builds.state("small", "methods")
    rows = {row["key"]: row for row in _build_lines.steps_data(state, "result", "", 2)}
    assert rows["labels"]["kind"] == "stale"
    assert (rows["clusters"]["kind"], rows["clusters"]["words"]) == ("waits", "step 2 comes first")
    page = step("result")
    assert "Step 2, Labels, comes first: the lens or documents changed since." in shown(page)
    assert "Not up to date" in shown(page)
    page.button(key="build_way").click()
    assert run(page).query_params["step"] == "labels"


def test_provenance_shows_a_persons_words_as_text(clustered: Explorer) -> None:
    lens = replace(LENS, guidance=HOSTILE)
    clustered.builds.save(lens, "ada")
    found = clustered.builds.provenance("small", "methods")
    said = provenance_html(found, clustered.builds.state("small", "methods").steps)
    assert "<img" not in said
    assert "Described by" in said


@pytest.mark.parametrize(
    ("state", "is_next", "expected"),
    [
        (StepState("label", 0, 40), True, ("next", "next")),
        (StepState("verbalise", 0, 0), False, ("later", "")),
        (StepState("label", 12, 40), True, ("partial", "12 of 40 documents")),
        (StepState("collapse", 9, 9, unfinished=True), True, ("partial", "stopped before the end")),
    ],
)
def test_how_a_step_stands(state: StepState, is_next: bool, expected: tuple[str, str]) -> None:
    assert _build_lines.standing(state, is_next=is_next) == expected


def test_a_stale_step_says_why(clustered: Explorer) -> None:
    doc_id = clustered.library.open("small").doc_ids[0]
    clustered.builds.set_labels("small", "methods", {doc_id: "something new"}, "ada")
    state = clustered.builds.state("small", "methods")
    kinds = {row["key"]: row for row in _build_lines.steps_data(state, "labels", "")}
    assert (kinds["clusters"]["kind"], kinds["clusters"]["words"]) == (
        "stale",
        "the labels changed since",
    )
    assert kinds["labels"]["current"]


def test_cost_progress_and_outcome_in_words() -> None:
    found = StepState("label", 0, 360)
    estimate = StepEstimate("label", 360, 360, 300_000, 20_000, 0.5)
    said = _build_lines.estimate_line(estimate, found, with_model=True)
    assert said.startswith("360 documents: at most 360 calls, 0.32 M tokens, cost 0.500.")
    assert _build_lines.estimate_line(estimate, found, with_model=False) == "360 documents."
    progress = StepProgress("label", 90, 360, 30.0, calls=92, tokens=80_000)
    said = _build_lines.progress_line(progress, 31.0, stopping=False)
    for words in ("90 of 360", "92 calls", "80 k tokens", "31 s", "about 2 min left"):
        assert words in said
    assert "stopping" in _build_lines.progress_line(progress, 31.0, stopping=True)
    report = StepReport("label", made=80, failed=3, left=270, calls=92, stopped="cancelled")
    job = StepJob("1", "cancelled", progress, report)
    said = _build_lines.outcome_line(job)
    for words in ("Cancelled", "80 labels", "270 not reached", "3 without a usable answer"):
        assert words in said
    assert not _build_lines.is_whole(job)


def test_labels_of_documents_that_nobody_read_are_not_counted_as_showing_nothing() -> None:
    labels = [
        Label("a", "x", author="judge"),
        Label("b", "", maker="person", author="ada"),
        Label("c", ""),
    ]
    said = _build_labels.facts(labels)
    assert "1 of 2 documents shows it, 1 does not" in said
    assert "1 document not read yet." in said
