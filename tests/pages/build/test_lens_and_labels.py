"""A lens becomes a build on the Build page, and its labels are read and mended in place."""

from dataclasses import replace

import pytest

from engine.types.documents import Document
from pages._build.build_page import EXAMPLE
from pages._build.build_tables import document_html
from pages._build.build_words import RUNS
from tests.pages.build.build_steps import HOSTILE, LENS, open_row, opened, step, table, tick, visit
from tests.pages.visits import click, run, shown

# -- the lens ----------------------------------------------------------------------------------


def test_a_lens_becomes_a_build_and_what_is_wrong_with_it_keeps_what_was_typed(explorer):
    page = visit()
    page.text_area(key="build_attribute_new").set_value("How they went about it.")
    page.text_area(key="build_examples_new").set_value("asking by post\n\nasking by post\nmeshes")
    click(page, "build_save_new")
    assert "The collection has no name." in shown(page)
    assert explorer.builds.names() == []
    assert page.text_area(key="build_attribute_new").value == "How they went about it."

    page.text_input(key="build_name_new").set_value("methods")
    page.selectbox(key="build_aspect_new").set_value("method")
    page.number_input(key="build_limit_new").set_value(30)
    click(page, "build_save_new")
    saved = opened(explorer).state().spec
    assert (saved.examples, saved.aspect, saved.limit) == (
        ("asking by post", "meshes"),
        "method",
        30,
    )
    assert page.query_params == {"corpus": "small", "build": "methods", "step": "labels"}
    assert "30 not labelled yet" in shown(page)
    page = step("attribute")
    assert "Saved." not in shown(page), "nothing was changed here"
    page.button(key="build_save_small_methods").click()
    assert "No changes." in shown(run(page))


def test_no_new_build_and_no_older_page_takes_the_place_of_what_somebody_saved(explorer):
    page = visit()
    explorer.builds.save(LENS, "ada")
    click(page, "build_example")
    assert page.text_input(key="build_name_new").value == EXAMPLE["name"]
    page.text_area(key="build_attribute_new").set_value("Something else.")
    page.text_input(key="build_name_new").set_value("methods")
    click(page, "build_save_new")
    assert "already has a build" in shown(page)
    assert opened(explorer).spec == LENS

    page = step("attribute")
    changed = replace(LENS, guidance="Only their own.")
    explorer.builds.save(changed, "ada")
    page.slider(key="build_overlap_small_methods").set_value(45)
    for _ in range(2):
        click(page, "build_save_small_methods")
        assert "was changed by somebody else" in shown(page)
        assert opened(explorer).spec == changed


def test_a_page_without_a_build_lists_those_that_there_are(labelled):
    page = visit()
    assert LENS.attribute in shown(page)
    click(page, "build_open_methods")
    assert page.query_params["build"] == "methods"
    waiting = opened(labelled).state().next
    assert waiting is not None
    assert page.query_params["step"] == RUNS[waiting].key, "where the build stands"


@pytest.mark.parametrize(
    ("params", "says"), [({"build": "gone"}, "It has methods."), ({"corpus": "gone"}, "gone")]
)
def test_a_link_that_leads_nowhere_says_so(labelled, params, says):
    page = visit(**params)
    assert says in shown(page)
    assert page.text_area(key="build_attribute_new"), "a new build can be described"


# -- labels ------------------------------------------------------------------------------------


def test_without_a_model_running_says_how_to_connect_one_and_labels_can_be_given_by_hand(explorer):
    explorer.builds.save(LENS, "ada")
    page = step("labels")
    assert page.button(key="build_start_label").disabled
    assert "No language model is connected." in shown(page)
    doc_id = explorer.library.open("small").doc_ids[0]
    open_row(page, "build_labels", doc_id)
    assert "Not labelled yet." in shown(page)
    page.text_input(key="build_who").set_value("grace")
    run(page)
    page.text_input(key=f"build_label_small_methods_{doc_id}").set_value("  by hand ")
    run(page)
    [label] = opened(explorer).labels()
    assert (label.text, label.maker, label.author) == ("by hand", "person", "grace")


def test_ticked_documents_get_one_label_and_a_document_can_be_said_not_to_show_it(labelled):
    page = step("labels")
    _, rows = table(page, "build_labels")
    assert len(rows) == len(labelled.library.open("small"))
    tick(page, "build_labels", [0, 2])
    page.text_input(key="build_label_chosen").set_value("both alike")
    next(b for b in page.button if b.label == "Apply").click()
    run(page)
    labels = opened(labelled).labels()
    assert [labels[0].text, labels[2].text] == ["both alike", "both alike"]
    open_row(page, "build_labels", labels[0].doc_id)
    click(page, "build_label_none")
    assert opened(labelled).labels()[0].text == ""


def test_a_document_is_shown_as_text_with_its_quote_marked():
    document = Document("d", f"Bees {HOSTILE}", f"They fly.  {HOSTILE} They\nreturn.", ())
    shown = document_html(document, "they return.")
    assert "<img" not in shown
    assert "<mark>They\nreturn.</mark>" in shown
    elsewhere = document_html(document, "<b>not in it</b>")
    assert "“&lt;b&gt;not in it&lt;/b&gt;”" in elsewhere
