"""What words of a wording are read as terms: what documents should mention, and what not."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.config import ASSETS
from engine.lenses.definitions import SHIPPED
from engine.search.interpretation import lens_words

FOUND = 0.85
"""Share of terms to be found; what was measured, less what other numeric libraries may cost."""


@pytest.fixture(scope="module")
def lenses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    return {lens.key: lens_words(lens, folder) for lens in SHIPPED}


def read(lenses, text, lens="research"):
    return [str(term) for term in lenses[lens].read(text).terms]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("conditional random fields", ["+term:conditional random fields"]),
        ("papers that use TEM", ["+method:TEM"]),
        ("papers that use conditional random fields", ["+method:conditional random fields"]),
        ("same method: conditional random fields", ["+method:conditional random fields"]),
        ("same problem, solved with tree kernels", ["+method:tree kernels"]),
        ("similar method, but not about medical text", ["-term:medical text"]),
        ("same method, leave out anything on dialogue", ["-term:dialogue"]),
        ("ignore clinical trials", ["-term:clinical trials"]),
        ("gleiche Methode, aber ohne Tweets", ["-term:Tweets"]),
        ("same method", []),
        ("ignore the topic", []),
        ("more like this", []),
    ],
)
def test_terms_are_told_from_names_of_aspects(lenses, text, terms):
    assert read(lenses, text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("+crf -twitter", ["+term:crf", "-term:twitter"]),
        ('same topic +"tree kernels"', ["+term:tree kernels"]),
        ('the word "method"', ["+term:method"]),
        ('not "attention heads"', ["-term:attention heads"]),
        ("−新闻", ["-term:新闻"]),
    ],
)
def test_quotes_and_signs_always_count(lenses, text, terms):
    assert set(read(lenses, text)) == set(terms)


def test_a_quote_that_does_not_close_is_read_as_if_it_were_not_there(lenses):
    assert read(lenses, 'not about "twitter') == ["-term:twitter"]


def test_what_is_asked_for_and_ruled_out_does_not_count(lenses):
    found = lenses["research"].read("+crf -crf +lstm")
    assert [str(term) for term in found.terms] == ["+term:lstm"]
    assert found.contradicted == ("crf",)


def test_words_that_are_not_used_are_named(lenses):
    assert lenses["research"].read("more papers please").unused == ()
    assert "tomorrow" in lenses["research"].read("find me something by tomorrow").unused


def test_aspects_are_read_from_what_is_left_without_the_terms(lenses):
    found = lenses["research"].read("same problem, solved with tree kernels")
    assert np.flatnonzero(found.wants).tolist() == [0], "Background, not Method"


@pytest.mark.nightly
def test_terms_of_wordings_nobody_fitted_on_are_found(lenses):
    lines = Path(ASSETS / "wordings" / "terms-test.jsonl").read_text("utf-8").splitlines()
    hits = total = 0
    for row in map(json.loads, lines):
        found = lenses[row["lens"]].read(row["text"]).terms
        for term in row["terms"]:
            words = set(term["text"].casefold().split())
            same = " ".join(t.text for t in found if t.wanted == term["wanted"]).casefold().split()
            hits, total = hits + (words <= set(same)), total + 1
    assert hits / total >= FOUND
