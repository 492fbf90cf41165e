"""A query that is a document of the corpus, as in ArguAna."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.evaluate.measuring import query_rows, without_own
from engine.types.evaluations import NDCG, Collection, Topic
from engine.types.searches import Ranking


@pytest.mark.parametrize(("grades", "score"), [({"d2": 1}, 1.0), ({"d1": 1, "d3": 1}, 0.920)])
def test_a_query_s_own_document_is_left_out_unless_it_is_judged_relevant(
    grades: dict[str, int], score: float
) -> None:
    topics = (Topic("d1", text="The text of d1."),)
    collection = Collection("c", topics, {"d1": grades}, Path(), "beir")
    ranked = [Ranking("d1", ("d1", "d2", "d3"), (3.0, 2.0, 1.0))]
    (row,) = query_rows(collection, topics, without_own(collection, topics, ranked))
    assert row[NDCG] == pytest.approx(score, abs=0.001)
