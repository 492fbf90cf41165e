"""Transport between sentences is the cheapest way to make one document of another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from engine.corpora.contracts import Focus, Request
from engine.numeric import unit
from engine.search.systems.optimal_transport import (
    FARTHEST,
    REGULARISATION,
    TransportSystem,
    transport_costs,
)


def rows(*values):
    return unit(np.array(values, dtype=np.float32))


def sentences(generator, count, width=24):
    """Sentences of one document: unlike each other, but about one thing."""
    about = generator.standard_normal(width)
    return unit((generator.standard_normal((count, width)) + about).astype(np.float32))


def test_two_sentences_move_to_two_by_hand():
    """Right angles: each sentence stays where it is, or moves by sqrt(2).

    Nothing has to move between two alike; where the document lacks one of the two sentences,
    that one's share moves, 1 - 1 / (1 + exp(-sqrt(2))).
    """
    both = rows([1, 0], [0, 1])
    alike, lacking = transport_costs(both, [both, both[:1]])
    assert alike == pytest.approx(0.0, abs=1e-6)
    near = 1 / (1 + np.exp(-np.sqrt(2)))
    assert lacking == pytest.approx((1 - near) * np.sqrt(2), abs=1e-5)


def test_the_cost_is_that_of_pots_solver_for_one_document():
    import ot

    generator = np.random.default_rng(4)
    query, document = sentences(generator, 6), sentences(generator, 9)
    distances = np.linalg.norm(query[:, None].astype(float) - document[None], axis=2)
    ours, theirs = (softmax(-distances.min(axis=axis)) for axis in (1, 0))
    single = ot.sinkhorn(ours, theirs, distances, REGULARISATION, stopThr=1e-8, numItermax=10_000)
    expected = float((single * distances).sum())
    assert transport_costs(query, [document])[0] == pytest.approx(expected, abs=1e-5)


def test_many_documents_cost_what_each_costs_alone():
    generator = np.random.default_rng(5)
    query = sentences(generator, 7)
    documents = [sentences(generator, int(n)) for n in generator.integers(1, 40, 60)]
    alone = [transport_costs(query, [document])[0] for document in documents]
    assert transport_costs(query, documents) == pytest.approx(alone, abs=1e-5)


def test_only_sentences_with_weight_take_part():
    generator = np.random.default_rng(6)
    query, document = sentences(generator, 5), sentences(generator, 6)
    weights = np.array([0.0, 0.6, 0.0, 0.4, 0.0], dtype=np.float32)
    cost = transport_costs(query, [document], weights)[0]
    pair = transport_costs(query[[1, 3]], [document], weights[[1, 3]])[0]
    assert cost == pytest.approx(pair, abs=1e-5)
    assert cost != pytest.approx(transport_costs(query, [document])[0], abs=1e-5)


def test_what_has_no_sentences_is_farthest():
    generator = np.random.default_rng(7)
    query, document = sentences(generator, 3), sentences(generator, 4)
    empty, wordless = document[:0], np.zeros_like(document)
    costs = transport_costs(query, [document, empty, wordless])
    assert costs[0] < costs[1] == costs[2] == FARTHEST
    assert transport_costs(query, []).shape == (0,)
    assert transport_costs(query[:0], [document]).tolist() == [FARTHEST]
    # A sentence without tokens beside others changes nothing.
    padded = np.concatenate([document, np.zeros_like(document[:2])])
    assert transport_costs(query, [padded])[0] == pytest.approx(costs[0], abs=1e-6)


def test_the_system_ranks_by_the_sentences_in_focus(small):
    corpus = small.library.open("small")
    seed = corpus.seed("bees-network")
    request = Request(seed, None, corpus.scope(without="bees-network"))
    whole = TransportSystem().rank(corpus, request)
    assert len(whole) == len(corpus) - 1
    assert [s.score for s in whole] == sorted((s.score for s in whole), reverse=True)
    stored = dict(zip(whole.doc_ids, corpus.sentences(whole.rows), strict=True))
    for doc_id, score in whole[:5]:
        cost = transport_costs(seed.sentences, [stored[doc_id]])[0]
        assert score == pytest.approx(-float(cost), abs=1e-5)
    last = np.zeros(len(seed.sentences), dtype=np.float32)
    last[-1] = 1.0
    aspects = np.eye(len(corpus.aspects), dtype=np.float32)[-1]
    focus = Focus(last, aspects, avoided=np.zeros_like(aspects))
    asked = replace(request, focus=focus, steer=1.0)
    for doc_id, score in TransportSystem().rank(corpus, asked)[:5]:
        cost = transport_costs(seed.sentences[-1:], [stored[doc_id]])[0]
        assert score == pytest.approx(-float(cost), abs=1e-5)
    assert TransportSystem().rank(corpus, replace(asked, steer=0.0)).doc_ids == whole.doc_ids
