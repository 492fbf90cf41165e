"""What a ranking promises, whichever system made it."""

from itertools import pairwise

import numpy as np
import pytest

import engine.search.systems.aspect_system
import engine.search.systems.late_interaction
from engine.corpora.contracts import ScoredDocument
from engine.errors import UnknownNameError
from engine.numeric import standardised, unit
from engine.queries import parse_filter
from engine.search.systems import SYSTEMS
from engine.search.systems.aspect_system import (
    convex,
    find_neighbours,
    joined,
    told_by,
)
from engine.search.systems.baselines import MOST_WORDS, query_words
from engine.search.systems.late_interaction import (
    MOST_TOKENS,
    aspect_similarity,
    idf_similarity,
    max_similarities,
    token_cosines,
)
from engine.types.searches import Filter, Query
from tests.fakes.small_corpus import DOCUMENTS, METHODS, PROBLEMS

every_system = pytest.mark.parametrize("system", list(SYSTEMS))
SEEDS = ("bees-network", "no-method", "emoji", "long")


def ranked(small, **query):
    found = small.search(Query("small", k=100, **query))
    return [ScoredDocument(r.doc_id, r.score) for r in found.results]


def ids(small, **query):
    return [s.doc_id for s in ranked(small, **query)]


# To words alone, a shorter document that shares them with an aspect is more alike.
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "bm25-aspect"])
@pytest.mark.parametrize("aspect", [None, "method"])
def test_a_near_duplicate_comes_first(small, system, aspect):
    one, other = "bees-network", "bees-network-again"
    assert ids(small, seed=one, system=system, aspect=aspect)[0] == other
    assert ids(small, seed=other, system=system, aspect=aspect)[0] == one


@every_system
@pytest.mark.parametrize("seed", SEEDS)
def test_every_other_document_comes_once_by_score_and_equal_ones_by_id(small, system, seed):
    found = ranked(small, seed=seed, system=system, aspect="method")
    assert found == sorted(found, key=lambda s: (-s.score, s.doc_id))
    assert np.isfinite([s.score for s in found]).all()
    doc_ids = [s.doc_id for s in found]
    assert seed not in doc_ids
    assert len(found) == len(set(doc_ids))
    if not system.startswith("bm25"):  # which leaves out what shares no word
        assert len(found) == len(DOCUMENTS) - 1


@pytest.mark.parametrize("system", [name for name in SYSTEMS if not name.startswith("hybrid")])
def test_twins_have_one_score_and_the_lesser_id_first(small, system):
    first, second = ranked(small, text="Two lakes, one name", system=system)[:2]
    assert (first.doc_id, second.doc_id) == ("twin-a", "twin-b")
    assert first.score == second.score


# Filters


@every_system
def test_years_are_bounds_and_a_document_without_one_is_out(small, system):
    years = {d["doc_id"]: d.get("year") for d in DOCUMENTS}
    filters = (Filter("year", ">=", "2005"), Filter("year", "<=", "2010"))
    found = ids(small, seed="bees-network", system=system, filters=filters)
    wanted = {i for i, year in years.items() if year is not None and 2005 <= year <= 2010}
    assert found
    assert set(found) <= wanted
    if not system.startswith("bm25"):
        assert set(found) == wanted


@pytest.mark.parametrize("system", ["bm25", "dense"])  # the others rank through these two
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("venue=x' OR '1'='1", ["quotes"]),
        ("author=Cy O'Neil", [d["doc_id"] for d in DOCUMENTS if d.get("authors") == ["Cy O'Neil"]]),
        ("year=2010", ["bridges-regression", "quotes"]),
        ("venue=x", []),
        ("venue=%", []),
        ("venue=acta minor", []),
        ("year>=9999", []),
    ],
)  # fmt: skip
def test_a_value_is_compared_as_a_whole_and_is_never_code(small, system, text, wanted):
    # A seed that shares a word with all of them, so that bm25 ranks them too.
    words = "Bees, bridges, bread, tides, maps, O'Brien"
    found = ids(small, text=words, system=system, filters=(parse_filter(text),))
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("text", ["no such field=1", "doc_id=plain", "Venue=Parva"])
def test_a_field_that_the_corpus_does_not_have_is_named_with_those_it_has(small, text):
    field = text.split("=", maxsplit=1)[0]
    with pytest.raises(UnknownNameError, match=f"no field '{field}' in corpus 'small'") as error:
        ids(small, seed="plain", filters=(parse_filter(text),))
    assert error.value.remedy == (
        "Its fields are: year, author, venue. Every corpus has has.aspect, has.date, has.place, "
        "has.amount.UNIT."
    )


def test_one_of_several_values_is_enough(small):
    filters = (parse_filter("venue=Parva|x' OR '1'='1|nowhere"), parse_filter("year=2010|2012"))
    found = ids(small, seed="bees-network", system="dense", filters=filters)
    wanted = {
        d["doc_id"]
        for d in DOCUMENTS
        if d.get("venue") in ("Parva", "x' OR '1'='1") and d.get("year") in (2010, 2012)
    }
    assert set(found) == wanted
    assert len(wanted) > 1


@every_system
def test_a_scope_of_one_document_is_ranked(small, system):
    asked = {"seed": "bees-network", "aspect": "method", "filters": (parse_filter("year=2021"),)}
    (found,) = ranked(small, system=system, **asked)
    assert found.doc_id == "bees-network-again"
    assert np.isfinite(found.score)


# The systems one by one


def test_maxsim_by_hand():
    query = np.array([[1, 0], [0, 1]], dtype=np.float32)
    documents = [
        np.array([[1, 0], [0.6, 0.8]], dtype=np.float32),
        np.zeros((0, 2), dtype=np.float32),
        np.array([[-1, 0]], dtype=np.float32),
    ]
    # The first query token finds 1, the second 0.8; then nothing; then -1 and 0.
    assert max_similarities(query, documents) == pytest.approx([0.9, 0.0, -0.5])
    # From the other side: 1 and 0.8; nothing; 0.
    both = max_similarities(query, documents, symmetric=True)
    assert both == pytest.approx([0.9, 0.0, -0.25])


def test_maxsim_is_that_of_pylate():
    import torch
    from pylate.scores import colbert_scores

    chance = np.random.default_rng(3)
    query = unit(chance.standard_normal((9, 16)).astype(np.float32))
    documents = [unit(chance.standard_normal((n, 16)).astype(np.float32)) for n in (5, 1, 12)]
    theirs = [
        float(colbert_scores(torch.from_numpy(query)[None], torch.from_numpy(d)[None])[0, 0])
        for d in documents
    ]
    assert max_similarities(query, documents) * len(query) == pytest.approx(theirs, abs=1e-5)


def test_hybrid_fuses_bm25_and_dense(small):
    expected: dict[str, float] = {}
    for system in ("bm25", "dense"):
        for rank, doc_id in enumerate(ids(small, seed="plain", system=system), start=1):
            expected[doc_id] = expected.get(doc_id, 0.0) + 1 / (60 + rank)
    found = ranked(small, seed="plain", system="hybrid")
    assert dict(found) == pytest.approx(expected)


def test_at_steer_0_the_aspect_makes_no_difference(small, monkeypatch):
    monkeypatch.setattr(
        engine.search.systems.aspect_system, "CANDIDATES", 4
    )  # most documents are none
    whole = ranked(small, seed="bees-network", steer=1.0)
    for aspect in ("background", "method", "result"):
        assert ranked(small, seed="bees-network", aspect=aspect, steer=0.0) == whole


@pytest.mark.parametrize("method", METHODS)
def test_at_steer_1_the_method_counts_more_than_the_problem(small, method):
    same_method = {f"{p}-{method}" for p in PROBLEMS}
    seed = f"tides-{method}"
    half, full = (ids(small, seed=seed, aspect="method", steer=steer)[:4] for steer in (0.0, 1.0))
    assert len(same_method.intersection(half)) <= 1, "dense follows the problem"
    assert len(same_method.intersection(full)) >= 3


def test_scores_lean_on_those_that_are_alike_in_the_aspect():
    scores = np.array([3, -1, 0, 0, 1], np.float32)
    space = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]], np.float32)
    own, found = standardised(scores), joined(scores, scores, 1.0, find_neighbours(space))
    assert own[1] < found[1] < found[0] < own[0], "the nearest of each is the other"
    assert found[4] == own[4], "a document without the aspect keeps its score"
    assert find_neighbours(space[:1]) is None


def test_high_values_of_a_signal_are_pulled_apart():
    assert (np.diff(convex(np.arange(5, dtype=np.float32)), 2) > 0).all()
    assert convex(np.ones(3, np.float32)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_first_documents_of_late_interaction_are_scored_by_all_tokens_of_the_seed(
    explorer, monkeypatch, symmetric
):
    searcher, seed = explorer.searcher("demo"), explorer.starting_point("demo")[0]
    query = Query("demo", seed=seed, system="late-interaction", symmetric=symmetric)
    module = engine.search.systems.late_interaction
    monkeypatch.setattr(module, "EXACT", module.CANDIDATES)
    whole = searcher.rank(query, searcher.seed(query))
    monkeypatch.setattr(module, "EXACT", len(whole.doc_ids) // 3)
    found = searcher.rank(query, searcher.seed(query))
    assert found.doc_ids[:20] == whole.doc_ids[:20]
    assert found.scores[:20] == pytest.approx(whole.scores[:20], abs=1e-6)
    assert sorted(found.doc_ids) == sorted(whole.doc_ids)
    assert all(a >= b for a, b in pairwise(found.scores))
    assert found.doc_ids != whole.doc_ids, "the last ones are ranked by some of the tokens"


def test_late_interaction_may_score_both_directions(small):
    asked = {"seed": "plain", "system": "late-interaction"}
    assert ranked(small, **asked) != ranked(small, symmetric=True, **asked)


def test_token_signals_weigh_each_token_by_idf_and_aspect_in_both_directions():
    draw = np.random.default_rng(1)
    rows = lambda n: unit(draw.standard_normal((n, 8)).astype(np.float32))  # noqa: E731
    seed, documents = rows(5), [rows(4), rows(1), rows(7)]
    idf, mine = draw.random(5, np.float32), np.array([0, 0.01, 0.3, 1, 0.6], np.float32)
    theirs = [draw.random(len(d), np.float32) for d in documents]
    theirs[1][:] = 0  # says nothing of the aspect
    weights = [draw.random(len(d), np.float32) for d in documents]
    (group,) = token_cosines(seed, documents)
    whole = idf_similarity(group, idf, np.concatenate(weights))
    aspect = aspect_similarity(
        group, (mine, idf), (np.concatenate(theirs), np.concatenate(weights))
    )
    focus = mine > 0.02
    for i, document in enumerate(documents):
        cosine = seed @ document.T
        forwards = np.average(cosine.max(axis=1), weights=idf)
        backwards = np.average(cosine.max(axis=0), weights=weights[i])
        assert whole[i] == pytest.approx((forwards + backwards) / 2, abs=1e-5)
        if i == 1:
            assert aspect[i] == 0.0
            continue
        best = np.clip((cosine[focus] * mine[focus, None]).max(axis=0), 0, None)
        a = np.average(best, weights=theirs[i] * weights[i])
        b = np.average((cosine[focus] * theirs[i]).max(axis=1), weights=(mine * idf)[focus])
        assert aspect[i] == pytest.approx((a + b) / 2, abs=1e-5)


def test_of_a_long_text_the_most_telling_tokens_are_compared():
    idf = np.linspace(0, 4, 3 * MOST_TOKENS, dtype=np.float32)
    telling = told_by(idf)
    assert np.flatnonzero(telling).tolist() == [*range(2 * MOST_TOKENS, 3 * MOST_TOKENS)]
    assert told_by(idf[-5:]).all()
    assert not told_by(idf[:5]).any()


def test_a_bm25_query_keeps_stems_and_the_most_frequent_words_of_a_very_long_seed(small):
    assert ids(small, text="potter", system="bm25") == ["plain"]
    assert ids(small, text="the of and 🐝", system="bm25") == [], "stop words find nothing"
    many = " ".join(f"word{n}" for n in range(2 * MOST_WORDS))
    kept = query_words("", f"{many} rare rare").split()
    assert len(kept) == MOST_WORDS
    assert "rare" in kept
    assert query_words("A b", "B c") == "a b b c"
