"""Vectors of wordings are kept in the home: the same ones, and never those of other words."""

import numpy as np
import pytest

from engine.corpora.library import Library
from engine.explorer import Explorer
from engine.lenses.embedded_texts import EmbeddedTexts
from engine.types.searches import Query


class Lengths:
    """A model whose vectors are the lengths of the texts; counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, texts):
        self.asked += 1
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def test_a_text_is_embedded_once_for_each_model(tmp_path):
    model = Lengths()
    one, other = EmbeddedTexts(tmp_path, "one", model), EmbeddedTexts(tmp_path, "other", model)
    for _ in range(2):
        assert one(["same", "method"]).tolist() == [[4, 1], [6, 1]]
    assert model.asked == 1
    other(["same", "method"])
    one(["method", "same"])
    one(["samemethod"])
    assert model.asked == 4


def test_a_wording_that_was_searched_with_before_needs_no_model(small_copy, monkeypatch):
    query = Query("small", seed="bees-network", instruction="the same method, not the topic")
    first = small_copy.search(query)
    monkeypatch.setattr(Library, "_load", lambda *_, **__: pytest.fail("no model is needed"))
    again = Explorer(small_copy.settings).search(query)
    assert [r.doc_id for r in again.results] == [r.doc_id for r in first.results]
    assert again.understood == first.understood
