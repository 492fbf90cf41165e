"""A corpus too large for memory gives the results that it would give in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import IvfFlat

import engine.corpora.opened
import engine.search.searcher
import engine.search.systems.aspect_system
import engine.search.systems.late_interaction
from engine.corpora.contracts import VectorPart
from engine.corpora.indexing import fixed_vectors, table_schema
from engine.corpora.opened import OpenCorpus
from engine.corpora.schema import aspect_column, facet, matrix, to_batch, vector_columns
from engine.facts import VERSION
from engine.lenses.definitions import RESEARCH
from engine.numeric import narrowed, unit
from engine.queries import parse_filter
from engine.search.searcher import Searcher
from engine.search.systems import find_system
from engine.search.systems.aspect_system import CANDIDATES
from engine.types.encoders import EncoderSpec
from engine.types.searches import Query
from storage.vectors import DocumentTable

COUNT, WIDTH = 3000, 32
SPEC = EncoderSpec("nobody's", "", WIDTH, WIDTH, 64)
VECTORS = vector_columns([a.key for a in RESEARCH.aspects])
SEEDS = ["d0000", "d2999"]
SYSTEMS = ("dense", "aspect", "late-interaction")


def random_rows(count):
    """Documents of one sentence whose vectors lie in sixty clusters."""
    chance = np.random.default_rng(11)
    centres = chance.standard_normal((60, WIDTH))

    def vectors():
        spread = 0.5 * chance.standard_normal((count, WIDTH))
        return unit((centres[chance.integers(60, size=count)] + spread).astype(np.float32))

    def one_each(values):
        return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), values)

    ids = [f"d{n:04}" for n in range(count)]
    columns = {
        "doc_id": ids,
        "content_hash": ids,
        "title": ids,
        "text": ["word"] * count,
        "search_text": ["word"] * count,
        "year": [1900 + n % 100 for n in range(count)],
        "authors": [[]] * count,
        "url": [None] * count,
        "metadata": ["{}"] * count,
        "facets": [facet("half", n % 2) for n in range(count)],
        "roles": [[0.2, 0.5, 0.3] if n % 3 else [0.2, 0.3, 0.5] for n in range(count)],
        **{name: fixed_vectors(vectors()) for name in VECTORS},
        "sentence_vectors": one_each(fixed_vectors(vectors())),
        "token_vectors": one_each(fixed_vectors(narrowed(vectors()))),
        **{name: [[0]] * count for name in ("sentence_starts", "token_starts")},
        **{name: [[4]] * count for name in ("sentence_ends", "token_ends")},
        "facts": [[]] * count,
        "facts_version": [VERSION] * count,
    }
    return to_batch(columns, table_schema(SPEC, RESEARCH))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three thousand random documents with a vector index on every vector column."""
    path: Path = tmp_path_factory.mktemp("large")
    table = DocumentTable.open_or_create(path, table_schema(SPEC, RESEARCH))
    rows = random_rows(COUNT)
    for start in range(0, COUNT, 1000):  # several fragments, as an import leaves them
        table.write(rows.slice(start, 1000), replace=False)
    table.finish(VECTORS, timedelta(hours=1))
    return table


@pytest.fixture(scope="module")
def resident(table):
    return OpenCorpus("large", table, RESEARCH, SPEC, resident_bytes=2**30)


@pytest.fixture(scope="module")
def streamed(table):
    return OpenCorpus("large", table, RESEARCH, SPEC, resident_bytes=0)


def no_model(*_):
    pytest.fail("a stored seed needs no model")


def resolved(corpus, asked):
    """The query as systems take it, to the depth that a page of a large corpus has."""
    searcher = Searcher(corpus, no_model, no_model, no_model)
    seed = searcher.seed(asked)
    focus = searcher.interpret(asked, seed).focus
    return replace(searcher.request(asked, seed, focus), depth=CANDIDATES)


def rank(corpus, **query):
    """The top twenty."""
    asked = Query("large", aspect="method", **query)  # type: ignore[arg-type]
    return find_system(asked.system).rank(corpus, resolved(corpus, asked))[:20]


def in_order(ranking):
    """Best first, ties by doc_id."""
    return list(ranking) == sorted(ranking, key=lambda s: (-s.score, s.doc_id))


def assert_alike(found, expected):
    assert [s.doc_id for s in found] == [s.doc_id for s in expected]
    scores = [s.score for s in expected]
    assert [s.score for s in found] == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_few_documents_are_scored_exactly(resident, streamed, monkeypatch, system, seed):
    monkeypatch.setattr(engine.corpora.opened, "EXACT_BELOW", COUNT)
    assert resident.resident
    assert not streamed.resident
    expected = rank(resident, seed=seed, system=system)
    assert len(expected) == 20
    assert_alike(rank(streamed, seed=seed, system=system), expected)


@pytest.mark.parametrize("filters", [(), ("half=0", "year>=1950")], ids=str)
@pytest.mark.parametrize("steer", [0.0, 0.7])
@pytest.mark.parametrize("among", [100, COUNT], ids=["asked for more", "asked for these"])
def test_above_it_the_index_finds_most_of_the_top_twenty(
    resident, streamed, monkeypatch, steer, filters, among
):
    monkeypatch.setattr(engine.corpora.opened, "EXACT_BELOW", 100)
    monkeypatch.setattr(engine.corpora.opened, "AMONG_BELOW", among)
    parsed = tuple(map(parse_filter, filters))
    # Among random vectors, a document's neighbours change with the candidates.
    enough = 18 if steer == 0 else 15
    for seed in SEEDS:
        query = {"seed": seed, "system": "aspect", "steer": steer, "filters": parsed}
        expected, found = rank(resident, **query), rank(streamed, **query)
        assert seed not in [s.doc_id for s in found]
        assert len({s.doc_id for s in found} & {s.doc_id for s in expected}) >= enough


def test_what_the_index_finds_has_its_exact_score(resident, streamed, monkeypatch):
    monkeypatch.setattr(engine.corpora.opened, "EXACT_BELOW", 100)
    request = resolved(streamed, Query("large", seed="d0017", aspect="method"))
    vector = request.seed.vector
    parts = [VectorPart("vector", vector, 0.5), VectorPart(aspect_column("method"), vector, 0.5)]
    found = streamed.by_vectors(parts, request)
    exact = dict(resident.by_vectors(parts, replace(request, depth=COUNT)))
    assert len(found) == CANDIDATES
    assert [s.score for s in found] == pytest.approx([exact[s.doc_id] for s in found], abs=1e-6)
    assert in_order(found)


def test_a_judged_pool_is_ranked_whole_and_alone(resident, streamed):
    pool = ["d0003", "d2000", "d0000", "not there"]
    for corpus in (resident, streamed):
        searcher = Searcher(corpus, no_model, no_model, no_model)
        for system in ("bm25", *SYSTEMS):
            query = Query("large", seed="d0000", aspect="method", system=system)
            found = searcher.rank(query, searcher.seed(query), pool)
            assert {s.doc_id for s in found} == {"d0003", "d2000"}, system


def test_a_document_far_from_the_seed_is_found_where_the_filter_leaves_out_all_that_is_near(
    table, monkeypatch
):
    monkeypatch.setattr(engine.corpora.opened, "EXACT_BELOW", 0)
    monkeypatch.setattr(engine.corpora.opened, "AMONG_BELOW", 0)
    monkeypatch.setattr(engine.corpora.opened, "NEAREST_READ", 20)
    corpus = OpenCorpus("large", table, RESEARCH, SPEC, resident_bytes=0)
    request = replace(resolved(corpus, Query("large", seed="d0017")), depth=20)
    part = VectorPart("vector", request.seed.vector, 1.0)
    near = set(corpus.candidates([part], replace(request, depth=COUNT), 500).tolist())
    far = [i for i in range(COUNT) if i not in near]
    scope = corpus.scope(pool=[corpus.doc_ids[i] for i in far])
    found = corpus.by_vectors([part], replace(request, scope=scope))
    assert len(found) == 20
    assert near.isdisjoint(found.rows.tolist())


@pytest.mark.parametrize("index", [IvfFlat(distance_type="cosine", num_partitions=8), None])
def test_a_corpus_that_an_earlier_version_indexed_is_searched_as_before(
    resident, tmp_path, monkeypatch, index
):
    table = DocumentTable.open_or_create(tmp_path, table_schema(SPEC, RESEARCH))
    table.write(random_rows(COUNT), replace=False)
    table.finish([], timedelta(hours=1))
    for column in VECTORS if index else ():
        lancedb.connect(tmp_path).open_table("documents").create_index(column, config=index)
    monkeypatch.setattr(engine.corpora.opened, "EXACT_BELOW", 100)
    old = OpenCorpus("large", DocumentTable.open(tmp_path), RESEARCH, SPEC, resident_bytes=0)
    assert_alike(
        rank(old, seed="d0017", system="dense"), rank(resident, seed="d0017", system="dense")
    )


def test_rows_are_those_that_scans_stream_whatever_was_written(tmp_path):
    table = DocumentTable.open_or_create(tmp_path, table_schema(SPEC, RESEARCH))
    rows = random_rows(300)
    for start in range(0, 300, 60):
        table.write(rows.slice(start, 60), replace=False)
    table.discard([f"d{n:04}" for n in range(0, 300, 7)])
    table.write(rows.slice(10, 20), replace=True)
    for _ in range(2):
        streamed = [i for batch in table.columns(["doc_id"]) for i in batch["doc_id"].to_pylist()]
        wanted = [5, 3, 250, 3, len(streamed) - 1]
        found = table.take(wanted, ["doc_id", "title", "doc_id"])
        assert found["doc_id"].to_pylist() == [streamed[at] for at in wanted]
        everywhere, _ = table.full_text("word", 300)
        assert sorted(everywhere) == list(range(len(streamed)))
        among = np.array([2, 8, 100], dtype=np.intp)
        assert sorted(table.full_text("word", 300, among=among)[0]) == [2, 8, 100]
        vector = matrix(table.take([8], ["vector"])["vector"].combine_chunks(), WIDTH)[0]
        assert table.nearest_rows("vector", vector, 1).tolist() == [8]
        assert sorted(table.nearest_rows("vector", vector, 9, among)) == [2, 8, 100]
        assert table.take([], ["title"]).num_rows == 0
        table.finish(VECTORS, timedelta(0))  # rows lie elsewhere, and are indexed
