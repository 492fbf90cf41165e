"""Rankings that learn from liked and rejected documents."""

from dataclasses import replace

import numpy as np
import pytest

from engine.errors import BadInputError, UnknownNameError
from engine.measures.metrics import csfcube_ndcg
from engine.search.systems import SYSTEMS
from engine.search.topics import sampled
from engine.types.searches import Query

DEMO = Query("demo", seed="demo-0001", aspect="method", k=100)


def test_grades_of_the_first_five_results_improve_the_rest(explorer, demo_collection):
    searcher, gains = explorer.searcher("demo"), []
    for topic in [t for t in sampled(demo_collection.topics, 3) if not t.instruction]:
        grades = demo_collection.qrels[topic.query_id]
        query = topic.query("demo")
        plain = searcher.rank(query, searcher.seed(query)).doc_ids
        first, rest = plain[:5], {d: g for d, g in grades.items() if d not in plain[:5]}
        query = replace(
            query,
            like=tuple(d for d in first if grades.get(d, 0) >= 2),
            unlike=tuple(d for d in first if not grades.get(d, 0)),
        )
        learned = searcher.rank(query, searcher.seed(query)).doc_ids
        before, after = ([d for d in ids if d not in first] for ids in (plain, learned))
        gains.append(csfcube_ndcg(after, rest) - csfcube_ndcg(before, rest))
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_ranks_what_is_like_a_liked_document_higher(explorer, system):
    query = replace(DEMO, system=system)
    plain = [r.doc_id for r in explorer.search(query).results]
    liked = explorer.search(replace(query, like=(plain[60],)))
    assert [r.doc_id for r in liked.results].index(plain[60]) < 60
    assert any("Learned from 1 kept" in note for note in liked.notes)
    rejected = explorer.search(replace(query, unlike=(plain[0],), k=1000))
    assert rejected.results[-1].doc_id == plain[0]


@pytest.mark.parametrize(
    ("like", "unlike", "error", "words"),
    [
        (("demo-0001",), (), BadInputError, "not the seed"),
        (("demo-0002",), ("demo-0002",), BadInputError, "twice"),
        (("nope",), (), UnknownNameError, "'nope'"),
        (tuple(f"demo-{i:04}" for i in range(2, 50)), (), BadInputError, "at most 20"),
    ],
)
def test_documents_to_learn_from_are_checked(explorer, like, unlike, error, words):
    with pytest.raises(error) as caught:
        explorer.search(replace(DEMO, like=like, unlike=unlike))
    assert words in str(caught.value)
