"""What the terms of a wording promise: documents with what is wanted first, the others last."""

import re
from dataclasses import replace

import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.queries import parse_reading
from engine.search.systems import READ_TERMS, SYSTEMS
from engine.search.term_matching import stem
from engine.types.searches import Query, Term

BEES = Query("small", seed="bees-interview", k=40)
FOUND = re.compile("convolutional|neural", re.IGNORECASE)
reading = pytest.mark.parametrize("system", sorted(READ_TERMS))


def asks(explorer, query, *terms):
    return explorer.search(replace(query, reading=tuple(map(str, terms))))


def mentions(document):
    return bool(FOUND.search(f"{document.title} {document.text}"))


@reading
def test_every_document_that_mentions_a_wanted_term_stands_before_all_others(small, system):
    query = replace(BEES, system=system)
    found = asks(small, query, Term("convolutional neural networks"))
    named = [mentions(r.document) for r in found.results]
    assert sum(named) == 6
    assert named == sorted(named, reverse=True)
    assert [r.score for r in found.results] == sorted(
        (r.score for r in found.results), reverse=True
    )


@reading
def test_every_document_that_mentions_an_unwanted_term_stands_behind_all_others(small, system):
    query = replace(BEES, system=system)
    found = asks(small, query, Term("convolutional neural networks", wanted=False))
    named = [mentions(r.document) for r in found.results]
    assert named == sorted(named)


def test_several_wanted_terms_rank_documents_with_all_of_them_first(small):
    found = asks(small, BEES, Term("neural network"), Term("sourdough"))
    assert found.results[0].doc_id == "bread-network"
    either = [r.doc_id.startswith("bread") or mentions(r.document) for r in found.results]
    assert either == sorted(either, reverse=True)


def test_a_page_counts_who_has_a_term_and_marks_where(small):
    found = asks(small, BEES, Term("neural networks", aspect="method"))
    (use,) = found.terms
    assert (use.documents, use.top, use.exact) == (6, 6, True)
    for result in found.results:
        (passage,) = result.terms
        assert passage.has == mentions(result.document)
        if passage.has and passage.sentence >= 0:
            text = result.document.text
            assert "neural network" in result.document.sentences[passage.sentence].text
            assert [text[slice(*mark)] for mark in passage.marks] == ["neural", "network"]


@pytest.mark.parametrize("system", sorted(set(SYSTEMS) - READ_TERMS))
def test_a_system_that_does_not_read_terms_says_so(small, system):
    found = asks(small, replace(BEES, system=system), Term("neural network"))
    plain = small.search(replace(BEES, system=system))
    assert [r.doc_id for r in found.results] == [r.doc_id for r in plain.results]
    assert any("does not read terms" in note for note in found.notes)


@pytest.mark.parametrize("text", ["zyxwv", "编码器", "🐝"])
def test_a_term_that_no_document_has_leaves_the_order_as_it_is(small, text):
    found = asks(small, BEES, Term(text))
    plain = small.search(BEES)
    assert found.terms[0].documents == 0
    assert [r.doc_id for r in found.results[:20]] == [r.doc_id for r in plain.results[:20]]


def test_a_short_form_finds_the_long_one_and_the_other_way_round(fresh):
    texts = [
        "We train a support vector machine (SVM) on leaves.",
        "A support vector machine (SVM) tells weeds from crops.",
        "Our SVM sorts apples by colour.",
        "The support vector machine of last year was slow.",
        "A Gaussian process (GP) maps the soil.",
        "We fit Gaussian processes (GPs) to rain.",
        "The Gaussian process of last year was slow.",
        *(f"Report {n} about tractors and their engines." for n in range(8)),
    ]
    fresh.library.add("svm", [{"doc_id": f"d{n}", "text": text} for n, text in enumerate(texts)])
    svm, gp = range(4), range(4, 7)
    for text, named in (("SVM", svm), ("support vector machines", svm), ("gps", gp)):
        found = asks(fresh, Query("svm", text="Engines of tractors.", k=12), Term(text))
        assert {r.doc_id for r in found.results[: len(named)]} == {f"d{n}" for n in named}


def test_terms_are_named_once_and_of_aspects_that_exist(small):
    with pytest.raises(BadInputError, match="once"):
        parse_reading("+term:bees,-term:Bees")
    with pytest.raises(UnknownNameError, match="colour"):
        asks(small, BEES, Term("bees", aspect="colour"))
    assert parse_reading(r"+method:x\, y,-term:a\\b") == (r"+method:x\, y", r"-term:a\\b")
    assert Term.parse(r"+method:x\, y") == Term("x, y", aspect="method")


def test_a_ranking_does_not_depend_on_earlier_searches_and_pages_go_on(small):
    terms = Term("neural network"), Term("sourdough", wanted=False)
    pages = [replace(BEES, k=4), BEES, replace(BEES, k=4, offset=4), replace(BEES, k=4)]
    first, whole, second, again = (asks(small, page, *terms) for page in pages)
    assert (first.results, first.terms) == (again.results, again.terms)
    assert first.results + second.results == whole.results[:8]


def test_wanted_and_unwanted_terms_are_both_obeyed(small):
    terms = Term("neural network"), Term("sourdough", wanted=False)
    found = asks(small, replace(BEES, system="hybrid"), *terms)
    assert {r.doc_id for r in found.results[:2]} == {"bees-network", "bees-network-again"}
    assert all(use.obeyed for use in found.terms)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("clusters", "clustering", True),
        ("Supervised", "supervision", True),
        ("CRF", "crfs", True),
        ("news", "new", False),
        ("planes", "planning", False),
        ("station", "state", False),
    ],
)
def test_inflections_share_a_stem_and_other_words_do_not(one, other, same):
    assert (stem(one) == stem(other)) is same
