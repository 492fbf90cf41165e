"""Vectors of passages are kept in memory: the same ones, and never more than is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from engine.corpora.opened import READS_BEFORE, OpenCorpus
from engine.corpora.passage_vectors import Passages, size_of
from engine.corpora.recent import Recent
from engine.numeric import widened


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(Passages, "_tokens", Recent(None, size_of, 2**30))


@pytest.fixture
def corpus(small, monkeypatch):
    """As it is before it is read often, whatever other tests read of it."""
    corpus = small.library.open("small")
    monkeypatch.setattr(corpus, "_reads", READS_BEFORE)
    monkeypatch.setattr(corpus.table, "_held", None)
    return corpus


def passages(corpus):
    count = len(corpus.lens.aspects)
    return Passages(corpus.table, corpus.spec, count, corpus.words.idf)


def test_tokens_come_in_the_order_asked_for_with_the_roles_of_their_sentences(corpus):
    kept = passages(corpus)
    stored = ["plain", "bees-network", "no-method"]
    for _ in range(2):  # the second time from memory
        for doc_id, row in zip(stored, kept.tokens(corpus.rows(stored)), strict=True):
            seed = corpus.seed(doc_id)
            assert widened(row.vectors) == pytest.approx(seed.tokens, abs=1e-3)
            assert row.roles.shape == (len(seed.tokens), 3)
            for start, roles in zip(seed.token_starts, row.roles, strict=True):
                inside = [s for s in seed.document.sentences if s.span[0] <= start < s.span[1]]
                expected = inside[0].roles if inside and start >= 0 else (0.0, 0.0, 0.0)
                assert tuple(roles) == pytest.approx(expected, abs=1e-3)


def test_rare_tokens_weigh_more_and_the_marks_of_the_model_nothing(corpus):
    seed = corpus.seed("bees-network")
    (row,) = passages(corpus).tokens(corpus.rows(["bees-network"]))
    assert np.array_equal(row.idf, seed.idf)
    inside = seed.token_starts >= 0
    words = {
        seed.document.text[start:].split(" ", 1)[0].lower(): weight
        for start, weight in zip(seed.token_starts[inside], row.idf[inside], strict=True)
    }
    assert words["we"] < words["photographs."]
    assert row.idf[0] == row.idf[-1] == 0.0, "the marks before and after"
    title = row.idf[1:-1][~inside[1:-1]]
    assert title == pytest.approx(row.idf[inside].mean(), abs=1e-5)


def test_what_is_kept_takes_no_more_room_than_it_may_and_what_was_used_last_stays():
    kept: Recent[str, str] = Recent(None, len, 10)
    for key, expected in (("aaaa", "a"), ("bbbb", "ab"), ("aaaa", "ba"), ("cccc", "ac")):
        assert kept.one(key[0], lambda key=key: key) == key
        assert "".join(kept._kept) == expected
    assert kept.one("d", lambda: "d" * 20) == "d" * 20
    assert "".join(kept._kept) == "d", "what does not fit is alone"


def test_a_corpus_that_is_read_often_is_held_in_memory_and_reads_alike(corpus, monkeypatch):
    opened = OpenCorpus("small", corpus.table, corpus.lens, corpus.spec, resident_bytes=2**30)
    alone = opened.resident_bytes
    monkeypatch.setattr(opened, "_seeds", Recent(0))
    ids = corpus.doc_ids[::-1]
    read = [list(opened.seeds(ids)) for _ in range(READS_BEFORE + 1)]
    assert opened.resident_bytes > alone
    for before, after in zip(read[0], read[-1], strict=True):
        assert before.document == after.document
        for name in ("vector", "sentences", "tokens", "token_starts", "idf"):
            assert np.array_equal(getattr(before, name), getattr(after, name))
