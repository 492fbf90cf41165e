"""How the steps of a build stand, what a run costs and how it ends, and where a result is from."""

import threading

import pytest

from engine.types.builds import Label, StepState
from engine.types.models import Estimate
from pages._build import build_words
from pages._build.build_tables import label_facts
from tests.fakes.build_answers import builds_collections, small_methods
from tests.fakes.model_server import serving
from tests.fakes.model_sessions import knowledge
from tests.pages.build.build_steps import LENS, opened, step
from tests.pages.visits import click, run, run_until, shown


def test_a_step_says_what_has_to_come_first(explorer):
    explorer.builds.save(LENS, "ada")
    page = step("result")
    assert "Waiting for step 2, Labels." in shown(page), "the earliest one"
    page.button(key="build_first_labels").click()
    assert run(page).query_params["step"] == "labels"


def test_labels_that_show_nothing_are_no_dead_end(explorer):
    explorer.builds.save(LENS, "ada")
    nothing = dict.fromkeys(explorer.library.open("small").doc_ids, "")
    opened(explorer).set_labels(nothing, "ada")
    page = step("labels")
    assert page.button(key="build_way").label == "Next: Clusters"
    page.button(key="build_way").click()
    assert "No document shows the attribute." in shown(run(page))
    page.button(key="build_first_attribute").click()
    assert run(page).query_params["step"] == "attribute"


def test_a_run_can_be_seen_and_ended_from_steps_that_cannot_run_yet(explorer, connect):
    looked = threading.Event()

    def late(_, __):
        looked.wait(60)

    with serving(knowledge(), handlers=[late, builds_collections(small_methods())]) as server:
        connect(server.url)
        explorer.builds.save(LENS, "ada")
        page = step("labels")
        page.button(key="build_start_label").click()
        run(page)
        for name in ("attribute", "result"):
            page = step(name)
            assert "Labelling" in shown(page)
            assert page.button(key="build_show").label == "Show Labels"
        click(page, "build_cancel")
        looked.set()
        run_until(page, lambda: "Labelling" not in shown(page), what="the end of labelling")


@pytest.mark.parametrize(
    ("state", "is_next", "expected"),
    [
        (StepState("label", 0, 40), True, ("next", "next")),
        (StepState("verbalise", 0, 0), False, ("later", "")),
        (StepState("label", 12, 40), True, ("partial", "12 of 40 documents")),
        (StepState("collapse", 9, 9, unfinished=True), True, ("partial", "incomplete")),
    ],
)
def test_how_a_step_stands(state, is_next, expected):
    assert build_words.standing(state, is_next=is_next) == expected


def test_a_stale_step_says_why(clustered):
    doc_id = clustered.library.open("small").doc_ids[0]
    opened(clustered).set_labels({doc_id: "something new"}, "ada")
    state = opened(clustered).state()
    kinds = {row["key"]: row for row in build_words.steps_data(state, "labels", None)}
    assert (kinds["clusters"]["kind"], kinds["clusters"]["words"]) == (
        "stale",
        "the labels changed since",
    )
    assert kinds["labels"]["current"]


def test_cost_in_words():
    state = StepState("label", 0, 360)
    estimate = Estimate(items=360, calls=360, input_tokens=300_000, output_tokens=20_000, cost=0.5)
    said = build_words.estimate_line(estimate, state, with_model=True)
    assert said.startswith(
        "360 documents: 360 requests, up to 730 including retries, about 0.32 M tokens, "
        "cost about 0.500."
    )
    assert build_words.estimate_line(estimate, state, with_model=False) == "360 documents."


def test_labels_of_documents_that_nobody_read_are_not_counted_as_showing_nothing():
    labels = [
        Label("a", "x", author="judge"),
        Label("b", "", maker="person", author="ada"),
        Label("c", ""),
    ]
    said = label_facts(labels)
    assert said.startswith("1 implied · 1 not present · ")
    assert said.endswith(" · 1 not labelled yet")
