"""The lens of a corpus, edited beside ten of its documents."""

import pytest

from engine.lenses.definitions import POSTS
from tests.pages.visits import click, param, run, shown, visit


@pytest.fixture
def page(small_copy, serve):
    serve(small_copy)
    return visit("library", lens="small")


def test_the_library_leads_to_the_editor_and_back(small_copy, serve):
    serve(small_copy)
    page = visit("library")
    page.session_state["library_inside_small"] = True
    run(page)
    click(page, "library_lens_small")
    assert param(page, "lens") == "small"
    assert "10 documents, " in shown(page)
    click(page, "lens_back")
    assert page.button(key="library_open_small")


def test_aspects_are_added_moved_and_removed_while_ten_documents_follow(page, small_copy):
    before = small_copy.library.lens("small")
    assert page.button(key="lens_use").disabled
    assert shown(page).count("sl-card sl-paper") == 10
    click(page, "lens_remove_0")
    click(page, "lens_down_1")
    click(page, "lens_add")
    assert "aspect 3: name: it is empty" in shown(page)
    page.text_input(key="lens_field_3_name").set_value("<b>Place</b>")
    page.text_area(key="lens_field_3_definition").set_value("Sentences that say where.")
    page.text_area(key="lens_field_3_examples").set_value("In Paris.")
    assert "give at least 2 sentences" in shown(run(page))
    page.text_area(key="lens_field_3_examples").set_value("In Paris.\nAt the coast.")
    run(page)
    names = [aspect.name for aspect in before.aspects]
    assert f"{names[2]} " in shown(page)
    assert shown(page).count('<span style="--role: var(--role-0)"><span class="letter">') == 1, (
        "a legend"
    )
    assert "&lt;b&gt;Place&lt;/b&gt;" in shown(page)
    assert "<b>Place" not in shown(page)
    assert small_copy.library.lens("small") == before, "a preview stores nothing"
    click(page, "lens_use")
    lens = small_copy.library.lens("small")
    assert [aspect.name for aspect in lens.aspects] == [names[2], names[1], "<b>Place</b>"]
    assert lens.aspects[0] == before.aspects[2]
    assert page.button(key="lens_use").disabled


def test_a_sentence_may_have_no_aspect(small_copy, serve):
    small_copy.library.set_lens("small", POSTS)  # no labels of the source are left
    serve(small_copy)
    page = visit("library", lens="small")
    assert "without aspect" not in shown(page)
    page.toggle(key="lens_field_none").set_value(True)
    run(page)
    assert "without aspect" in shown(page)
    click(page, "lens_use")
    lens = small_copy.library.lens("small")
    assert lens.allows_none
    documents = small_copy.library.preview_lens("small", lens)
    stored = small_copy.library.open("small").documents([d.doc_id for d in documents])
    assert [[s.role for s in d.sentences] for d in stored] == [
        [s.role for s in d.sentences] for d in documents
    ], "what was shown is what is stored"
    assert any(s.role is None for d in stored for s in d.sentences)


def test_a_corpus_gets_another_lens(page, small_copy):
    page.selectbox(key="lens_begun").set_value("posts")
    assert "Advice" in shown(run(page))
    page = click(page, "lens_use")
    assert small_copy.library.lens("small") == POSTS
    assert page.button(key="lens_use").disabled


def test_a_lens_of_a_corpus_that_is_not_there_is_explained(serve, small):
    serve(small)
    assert "nowhere" in shown(visit("library", lens="nowhere"))
