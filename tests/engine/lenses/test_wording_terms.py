"""What words of a wording are read as terms: what documents should mention, and what not."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.config import ASSETS

FOUND = 0.85
"""Share of terms to be found; what was measured, less what other numeric libraries may cost."""


def read(lenses, text):
    return [str(term) for term in lenses["research"].read(text).terms]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("conditional random fields", ["+term:conditional random fields"]),
        ("papers that use TEM", ["+method:TEM"]),
        ("same method: conditional random fields", ["+method:conditional random fields"]),
        ("same problem, solved with tree kernels", ["+method:tree kernels"]),
        ("similar method, but not about medical text", ["-term:medical text"]),
        ("ignore clinical trials", ["-term:clinical trials"]),
        ("gleiche Methode, aber ohne Tweets", ["-term:Tweets"]),
        ("same method", []),
        ("ignore the topic", []),
        ("+crf -twitter", ["+term:crf", "-term:twitter"]),
        ('same topic +"tree kernels"', ["+term:tree kernels"]),
        ('the word "method"', ["+term:method"]),
        ('not "attention heads"', ["-term:attention heads"]),
        ("−新闻", ["-term:新闻"]),
        ('not about "twitter', ["-term:twitter"]),
    ],
)
def test_terms_are_told_from_names_of_aspects_and_signs_and_quotes_count(lenses, text, terms):
    assert read(lenses, text) == terms


def test_what_does_not_count_is_named(lenses):
    read = lenses["research"].read
    found = read("+crf -crf +lstm")
    assert ([str(term) for term in found.terms], found.contradicted) == (["+term:lstm"], ("crf",))
    assert read("more papers please").unused == ()
    assert "tomorrow" in read("find me something by tomorrow").unused


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
