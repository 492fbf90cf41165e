"""Which passages stand for a likeness: none that are close to everything, none by chance."""

import re
from itertools import pairwise

import numpy as np
import pytest

from engine.corpora.contracts import Focus, Seed, Surroundings
from engine.corpora.opened import OpenCorpus
from engine.numeric import unit
from engine.search.evidence import (
    FEWEST,
    EvidenceFinder,
    Found,
    closeness,
    explain,
    find_words,
    match_words,
    root,
)
from engine.sentences import stop_words
from engine.types.documents import Document, Sentence
from engine.types.searches import Query

WIDTH = 16


def document(sentences):
    """A document whose sentences have these vectors, and the words "s0", "s1" ..."""
    words = [f"s{i}" for i in range(len(sentences))]
    text = " ".join(words)
    starts = [text.index(word) for word in words]
    spans = [(at, at + len(word)) for at, word in zip(starts, words, strict=True)]
    parts = tuple(Sentence(span, text[slice(*span)], (1.0,)) for span in spans)
    no_tokens = np.zeros((0, WIDTH), dtype=np.float32)
    vector = unit(sentences.sum(axis=0, keepdims=True))[0]
    idf = np.zeros(0, dtype=np.float32)
    starts = np.zeros(0, dtype=np.int32)
    return Seed(Document("", "", text, parts), vector, sentences, no_tokens, starts, idf)


def around(centroid, documents):
    counts = np.array([len(d) for d in documents], dtype=np.intp)
    sentences = np.concatenate([np.zeros((0, WIDTH), np.float32), *documents])
    roles, starts = np.ones((len(sentences), 1), np.float32), np.cumsum(counts) - counts
    return Surroundings(centroid, sentences, roles, starts, chance=0.0)


def axes(*weighted):
    """Unit vectors that point along these axes."""
    rows = np.zeros((len(weighted), WIDTH), dtype=np.float32)
    for row, weights in zip(rows, weighted, strict=True):
        for axis, weight in weights.items():
            row[axis] = weight
    return unit(rows)


def evenly_rare(_):
    return 1.0


def found(seed, other, surroundings):
    like = EvidenceFinder(seed, None, surroundings, evenly_rare, 1.0).find(other)
    return [(pair.seed_text, pair.doc_text) for pair in like.evidence]


def test_a_sentence_that_is_close_to_all_around_the_seed_does_not_come_first():
    # Sentence 0 says what all documents around say; sentence 1 has what only this one shares.
    seed = document(axes({0: 1.0}, {1: 1.0, 2: 0.6}))
    other = document(axes({0: 1.0, 3: 0.6}, {1: 1.0, 4: 0.7}))
    nowhere = around(np.zeros(WIDTH, dtype=np.float32), [])
    assert found(seed, other, nowhere) == [("s0", "s0"), ("s1", "s1")]
    near = around(axes({0: 1.0})[0] * 0.8, [])
    assert found(seed, other, near) == [("s1", "s1"), ("s0", "s0")]


def test_a_pair_that_documents_of_no_likeness_reach_too_is_not_shown():
    seed = document(axes({0: 1.0}))
    centroid = np.zeros(WIDTH, dtype=np.float32)
    others = [axes({0: 0.1 + 0.02 * n, 5: 1.0}, {6: 1.0}) for n in range(FEWEST)]
    weak, strong = document(axes({0: 0.3, 7: 1.0})), document(axes({0: 1.0, 7: 0.5}))
    assert found(seed, weak, around(centroid, others)) == []
    assert found(seed, strong, around(centroid, others)) == [("s0", "s0")]
    few = around(centroid, others[1:])
    assert found(seed, weak, few) == [("s0", "s0")], "too few to tell chance by"


def test_documents_without_sentences_have_no_evidence():
    empty, seed = document(np.zeros((0, WIDTH), np.float32)), document(axes({0: 1.0}))
    surroundings = around(np.zeros(WIDTH, dtype=np.float32), [])
    assert found(empty, seed, surroundings) == found(seed, empty, surroundings) == []


def test_where_nothing_stands_out_the_explanation_says_so(explorer):
    lens = explorer.library.lens("demo")
    seed = document(axes({0: 1.0}))
    method = Focus(np.ones(1), np.array([0.0, 1.0, 0.0]), np.zeros(3))
    said = explain(Found((), 0.12, 0, 2), seed, method, lens, None, (), True)
    assert said == "Mostly the same topic; method weak (cosine 0.12). No passage stands out."


def test_words_that_hold_a_sentence_together_are_not_marked():
    assert not any(map(root, ("Here", "by", "Surprisingly", "recently", "quite", "Contains")))
    assert all(map(root, ("networks", "family", "Assembly", "fly", "Bees", "דבורים")))


def test_stop_words_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert stop_words() == ENGLISH_STOP_WORDS


def test_a_number_is_marked_whole(explorer):
    said = explorer.document("demo", "demo-0001").sentences
    sentence = next(one.text for one in said if re.search(r"\d,\d{3}", one.text))
    first = explorer.search(Query("demo", text=sentence)).results[0]
    marked = {first.document.text[a:b] for a, b in first.evidence[0].doc_marks}
    assert re.search(r"\d+,\d{3}", sentence)[0] in marked, "such as 48,200"


def test_words_of_passages_that_have_nothing_to_do_with_each_other_are_hardly_marked(explorer):
    opened = explorer.library.open("demo")
    seeds = opened.seeds(opened.doc_ids[5::9])
    passages = [find_words(s, s.document.sentences[1].span, opened.words.rarity) for s in seeds]
    words = marked = 0
    for mine, theirs in pairwise(passages):
        spans, _ = match_words(mine, theirs, closeness(opened))
        different = [s for s in spans if mine.roots[mine.spans.index(s)] not in theirs.roots]
        words, marked = words + len(mine.spans), marked + len(different)
    assert words > 300
    assert marked < 0.01 * words


def test_evidence_is_the_same_for_corpora_in_memory_and_on_disk(small):
    opened = small.library.open("small")
    seed = opened.seed("bees-network")
    resident = opened.surroundings(seed).centroid
    on_disk = OpenCorpus("small", opened.table, opened.lens, opened.spec, resident_bytes=0)
    assert on_disk.surroundings(seed).centroid == pytest.approx(resident, abs=1e-3)
