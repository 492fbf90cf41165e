"""From what a person asks for to weights over the seed's sentences and the lens's aspects."""

from dataclasses import replace

import numpy as np
import pytest

from engine.collections.readers import read_collection
from engine.config import DEMO
from engine.corpora.contracts import Seed
from engine.errors import BadInputError, UnknownNameError
from engine.lenses.definitions import RESEARCH
from engine.lenses.instructions import Reading
from engine.measures.p_mrr import p_mrr
from engine.queries import parse_reading
from engine.search.interpretation import (
    avoid,
    focus_on_aspect,
    focus_on_reading,
)
from engine.types.documents import Document, Sentence
from engine.types.searches import WHOLE, Query

BACKGROUND, METHOD, RESULT = range(3)
BEES = Query("small", seed="bees-network", k=100)


def row(*values):
    return np.array(values, dtype=np.float32)


def make_seed(*roles):
    """A seed whose sentence i points along axis i, with these role probabilities."""
    count = len(roles)
    sentences = tuple(Sentence((i, i + 1), "x", role) for i, role in enumerate(roles))
    document = Document("s", "", "x" * count, sentences)
    axes = np.eye(count, 4, dtype=np.float32)
    nothing = np.zeros((0, 4), dtype=np.float32)
    none = np.zeros(0, dtype=np.int32)
    return Seed(document, row(1, 0, 0, 0), axes, nothing, none, none.astype(np.float32))


MIXED = make_seed((0.6, 0.4, 0), (0, 0.9, 0.1))


def test_sentences_weigh_by_how_far_they_serve_the_aspect():
    focus = focus_on_aspect(MIXED, RESEARCH, RESEARCH.aspects[METHOD])
    assert focus.sentence_weights == pytest.approx([0.4 / 1.3, 0.9 / 1.3])
    assert focus.aspect_weights.tolist() == [0, 1, 0]
    assert (focus.avoided.tolist(), focus.strength) == ([0, 0, 0], 1.0)


def test_what_is_ruled_out_takes_weight_from_the_sentences_that_serve_it():
    level = row(0, 0, 0, 1)  # as close to one sentence as to the other
    plain, ruled = (
        focus_on_reading(MIXED, RESEARCH, Reading(row(0, 1, 0), row(out, 0, 0), 1.0, ""), level)
        for out in (0, 1)
    )
    assert ruled.sentence_weights[0] < plain.sentence_weights[0]
    assert ruled.avoided.tolist() == [1, 0, 0]
    assert avoid(plain, row(1, 1, 0)).avoided.tolist() == [1, 0, 0], "but not the aspect asked for"


def test_a_reading_that_the_seed_cannot_serve_gives_no_focus():
    only_problem = make_seed((1, 0, 0), (1, 0, 0))
    reading = Reading(row(0, 1, 0), row(0, 0, 0), 1.0, "same method")
    assert focus_on_reading(only_problem, RESEARCH, reading, row(0, 0, 0, 1)) is None


# The same through a search


@pytest.mark.nightly
def test_documents_that_are_alike_only_in_what_is_ruled_out_fall(explorer):
    searcher = explorer.searcher("demo")
    judged = read_collection(DEMO).qrels

    def ranked(seed, words):
        query = Query("demo", seed=seed, instruction=words)
        return [s.doc_id for s in searcher.rank(query, searcher.seed(query))]

    moves = []
    for seed in (f"demo-{n:04}" for n in range(5, 480, 40)):
        grades = {
            aspect: {**dict.fromkeys(searcher.corpus.doc_ids, 0), **judged[f"{seed}_{aspect}"]}
            for aspect in ("background", "method")
        }
        plain = ranked(seed, "similar method")
        ruled_out = ranked(seed, "similar method, ignore the topic")
        moves.append(p_mrr(ruled_out, grades["background"], plain, grades["method"]))
    told = [m for m in moves if m is not None]
    assert sum(told) / len(told) < -0.01, "documents alike only in background fall"


def test_a_wording_that_quotes_a_sentence_is_about_that_sentence(small):
    for at, sentence in enumerate(small.document("small", "bees-network").sentences):
        found = small.search(replace(BEES, instruction=sentence.text))
        assert found.weights[at] == max(found.weights) > 0.5
        assert found.notes == ()


def test_aspect_and_wording_that_disagree_are_told_apart(small):
    asked = replace(BEES, aspect="method", instruction="Which papers came to the same result?")
    found = small.search(asked)
    (note,) = found.notes
    assert "ask for Result" in note
    assert "the aspect chosen is Method" in note
    assert found.weights == small.search(replace(BEES, aspect="method")).weights
    agreeing = small.search(replace(asked, instruction="Which papers use the same method?"))
    assert agreeing.notes == ()


# What decides: a correction, the aspect, or the words


def ranked(small, **asked):
    return [r.doc_id for r in small.search(replace(BEES, **asked)).results]


@pytest.mark.parametrize("aspect", RESEARCH.aspects, ids=lambda aspect: aspect.key)
def test_the_exact_words_of_a_built_in_wording_mean_its_aspect(small, aspect):
    chosen = small.search(replace(BEES, aspect=aspect.key))
    written = small.search(replace(BEES, instruction=f" {aspect.instruction} "))
    assert [(r.doc_id, r.score) for r in written.results] == (
        [(r.doc_id, r.score) for r in chosen.results]
    )
    assert written.reading == chosen.reading == (f"+{aspect.key}",)
    assert written.weights == chosen.weights


def test_what_a_search_was_read_as_is_a_correction_that_changes_nothing(small):
    for words in ("ignore the topic", "the same method, whatever the topic", ""):
        for aspect in ("method", None):
            asked = replace(BEES, instruction=words, aspect=aspect)
            found = small.search(asked)
            if not found.reading:
                continue
            again = small.search(replace(asked, reading=found.reading))
            assert again.reading == found.reading
            assert [name for name, _ in again.understood] == [n for n, _ in found.understood]
            assert again.avoided == found.avoided


def test_a_correction_takes_the_place_of_aspect_and_wording(small):
    asked = replace(BEES, aspect="method", instruction="ignore the topic", reading=("+result",))
    found = small.search(asked)
    assert (found.understood, found.avoided) == ((("Result", 1.0),), ())
    assert ranked(small, reading=("+result",)) == ranked(small, aspect="result")
    assert ranked(small, aspect="result", reading=WHOLE) == ranked(small)
    picked = small.search(replace(BEES, focus=(1,), reading=("-background",)))
    assert (picked.sentences, picked.avoided) == ((1,), ("Background",))


def test_a_correction_of_the_reading_is_checked(small):
    asked = replace(BEES, reading=("-background", "-method", "-result"))
    (note,) = small.search(asked).notes
    assert "Every aspect is ruled out" in note
    with pytest.raises(UnknownNameError, match="There is no aspect 'taste'"):
        small.search(replace(BEES, reading=("+taste",)))
    for text in ("method,-method", "any,method", "+"):
        with pytest.raises(BadInputError, match="cannot be used"):
            parse_reading(text)


def test_a_model_is_told_what_a_correction_says(small):
    searcher = small.searcher("small")
    seed = searcher.seed(BEES)
    chosen = searcher.criterion(replace(BEES, aspect="method"), seed)
    written = replace(BEES, instruction=RESEARCH.aspects[METHOD].instruction)
    assert searcher.criterion(written, seed) == chosen
    assert searcher.criterion(replace(BEES, reading=("+method",)), seed) == chosen
    corrected = replace(
        BEES, instruction="like this", reading=("+method", "+result", "-background")
    )
    found = searcher.criterion(corrected, seed)
    assert found.aspect == "Method and Result"
    told = [RESEARCH.aspects[i].instruction for i in (METHOD, RESULT)]
    assert found.instruction == f"like this {' '.join(told)} Likeness in Background does not count."
