"""What a page of results promises: its evidence, its changes of rank, its errors."""

import re
from dataclasses import replace

import numpy as np
import pytest

import engine.search.systems.aspect_system
from engine.collections.readers import read_collection
from engine.config import DEMO as DEMO_FOLDER
from engine.errors import BadInputError, UnknownNameError
from engine.search.systems import SYSTEMS
from engine.types.limits import LONGEST_INSTRUCTION, PASTED_CHARS
from engine.types.searches import Query

every_system = pytest.mark.parametrize("system", list(SYSTEMS))
BEES = Query("small", seed="bees-network", aspect="method", k=100)
DEMO = Query("demo", seed="demo-0001", aspect="method")


def ids(found):
    return [r.doc_id for r in found.results]


# Evidence


@every_system
@pytest.mark.parametrize("aspect", [None, "method"])
def test_evidence_quotes_the_stored_texts_exactly(explorer, system, aspect):
    found = explorer.search(replace(DEMO, system=system, aspect=aspect))
    assert found.seed == explorer.document("demo", "demo-0001")
    for result in found.results:
        assert len(result.evidence) <= 3
        assert result.explanation
        assert bool(result.evidence) != ("No passage" in result.explanation)
        text = explorer.document("demo", result.doc_id).text
        assert result.document.text == text
        for e in result.evidence:
            assert found.seed.text[slice(*e.seed_span)] == e.seed_text
            assert text[slice(*e.doc_span)] == e.doc_text
            assert -1.001 <= e.score <= 1.001
        for side in ("seed_span", "doc_span"):
            spans = [getattr(e, side) for e in result.evidence]
            assert len(set(spans)) == len(spans), "no sentence is shown twice"


def test_marked_words_lie_within_their_passages(explorer):
    found, words = explorer.search(DEMO), []
    for result in found.results:
        for e in result.evidence:
            assert len(e.seed_marks) == len(e.doc_marks) <= 6
            for text, span, marks in (
                (found.seed.text, e.seed_span, e.seed_marks),
                (result.document.text, e.doc_span, e.doc_marks),
            ):
                assert list(marks) == sorted(set(marks))
                assert all(span[0] <= start < end <= span[1] for start, end in marks)
                words += [text[start:end] for start, end in marks]
    assert len(words) > 20
    assert all(re.fullmatch(r"\w\w+|\d+([.,]\d+)+", word) for word in words)
    assert {word.lower() for word in words}.isdisjoint({"the", "and", "of", "is"})


def test_under_an_aspect_the_best_evidence_is_of_that_aspect(explorer):
    for index, aspect in enumerate(("background", "method", "result")):
        found = explorer.search(replace(DEMO, aspect=aspect, steer=1.0))
        shown = [result for result in found.results if result.evidence]
        assert len(shown) >= 16, "words bring up some without a passage that is close"
        for result in shown:
            assert result.evidence[0].seed_role == index
            assert result.evidence[0].role == index


def test_the_explanation_says_how_strong_the_aspect_is_and_the_move(explorer):
    found = explorer.search(DEMO)
    said = r"(Mostly the same topic; method {0}|({0})ly similar in method) \(cosine 0\.\d\d\)"
    strengths = set()
    for result in found.results:
        match = re.match(said.format("(?i:strong|moderate|weak)"), str(result.explanation))
        assert match, result.explanation
        strengths.add(match[0].split(" (")[0])
        assert ("moved" in match.string) == bool(result.rank_change)
        assert len(match.string.split()) <= 22
    assert len(strengths) > 2
    plain = explorer.search(replace(DEMO, aspect=None))
    assert "ly similar overall (cosine " in str(plain.results[0].explanation)
    ignoring = explorer.search(replace(DEMO, system="bm25"))
    assert all("ignores the aspect; method " in str(r.explanation) for r in ignoring.results)


def test_a_first_visit_finds_the_method_where_the_whole_document_does_not(explorer):
    """The demo's first seed: the first three results are right, in other words, on other topics."""
    seed, aspect = explorer.starting_point("demo")
    grades = read_collection(DEMO_FOLDER).qrels[f"{seed}_{aspect}"]
    query = Query("demo", seed=seed, aspect=aspect, k=5)
    found, plain = explorer.search(query), explorer.search(replace(query, aspect=None))
    right, before = ([grades.get(i, 0) == 3 for i in ids(one)] for one in (found, plain))
    assert all(right[:3])
    assert sum(right) >= 4
    assert sum(before) <= 2
    for result in found.results:
        for pair in result.evidence:
            assert pair.seed_text != pair.doc_text


# What the aspect changed


def test_rank_change_is_the_difference_to_the_search_at_steer_0(small, monkeypatch):
    monkeypatch.setattr(engine.search.systems.aspect_system, "CANDIDATES", 12)
    before = {r.doc_id: r.rank for r in small.search(replace(BEES, steer=0.0)).results}
    found = small.search(BEES)
    assert len(before) == len(found.results) == 39
    for result in found.results:
        assert result.rank_change == before[result.doc_id] - result.rank
    assert any(r.rank_change for r in found.results)
    top = {r.doc_id for r in found.results[:20]}
    old = {d for d, rank in before.items() if rank <= 20}
    assert found.instruction_following == pytest.approx(len(top - old) / 20)
    assert found.instruction_following


@pytest.mark.parametrize(
    ("changes", "change", "following"),
    [
        ({"steer": 0.0}, 0, 0.0),
        *(({"system": name}, 0, 0.0) for name in ("bm25", "dense", "late-interaction", "hybrid")),
        ({"aspect": None}, None, None),
    ],
    ids=str,
)
def test_where_the_aspect_has_no_say_nothing_moves(small, monkeypatch, changes, change, following):
    monkeypatch.setattr(engine.search.systems.aspect_system, "CANDIDATES", 4)
    found = small.search(replace(BEES, **changes))
    assert {r.rank_change for r in found.results} == {change}
    assert found.instruction_following == following
    assert bool(found.weights) == (change is not None)


def test_a_seed_without_a_sentence_of_the_aspect_is_ranked_as_a_whole_and_says_so(small):
    found = small.search(Query("small", seed="no-method", aspect="method", k=100))
    assert found.notes == (
        "The seed has no Method sentence, so the ranking follows the whole text.",
    )
    assert (found.instruction_following, found.weights) == (None, ())
    assert ids(found) == ids(small.search(Query("small", seed="no-method", k=100)))
    assert small.search(BEES).notes == ()


# Pasted texts


@every_system
def test_the_text_of_a_stored_document_finds_that_document(explorer, system):
    doc_id = "demo-0123"
    text = explorer.document("demo", doc_id).text
    found = explorer.search(Query("demo", text=text, system=system))
    assert found.results[0].doc_id == doc_id
    assert found.seed.text == text
    assert found.total == found.corpus_size or system.startswith("bm25")


@pytest.mark.parametrize("text", ["🐝", "הדבורים מתות", "a" * 20_000, "\x00"])
@every_system
def test_any_text_may_be_pasted(small, system, text):
    found = small.search(Query("small", text=text, aspect="method", system=system))
    assert found.seed.text == text
    assert all(np.isfinite(r.score) for r in found.results)


# Instructions and single sentences


def test_an_instruction_shifts_weight_among_the_sentences_of_the_aspect(explorer):
    query = replace(DEMO, seed="demo-0008")
    plain = explorer.search(query)
    worded = explorer.search(replace(query, instruction="How much data was collected, and whose?"))
    assert sum(plain.weights) == pytest.approx(1.0)
    assert sum(worded.weights) == pytest.approx(1.0)
    assert worded.weights != plain.weights
    # The seed's three method sentences share the weight; the first is about the data.
    assert np.nonzero(plain.weights)[0].tolist() == [4, 5, 6]
    assert np.nonzero(worded.weights)[0].tolist() == [4, 5, 6]
    assert worded.weights[4] == max(worded.weights) > plain.weights[4]
    assert ids(worded) != ids(plain)


@pytest.mark.parametrize("sentence", range(3))
def test_one_sentence_may_be_the_focus(small, sentence):
    found = small.search(replace(BEES, aspect=None, focus=(sentence,), steer=1.0))
    assert found.weights == tuple(float(i == sentence) for i in range(3))
    text = small.document("small", "bees-network").sentences[sentence].text
    assert text in found.results[0].document.text, (
        "of the documents that say just this, one is first"
    )
    assert all(r.evidence[0].seed_text == text for r in found.results if r.evidence)


def test_two_sentences_share_the_focus_and_go_before_the_aspect(small):
    found = small.search(replace(BEES, focus=(2, 0)))
    assert found.weights == (0.5, 0.0, 0.5)
    assert found.results == small.search(replace(BEES, aspect=None, focus=(0, 2))).results


# Pages


@every_system
def test_pages_follow_each_other_without_a_gap(explorer, system):
    query = replace(DEMO, system=system)
    first, second = explorer.search(query), explorer.search(replace(query, offset=20))
    whole = explorer.search(replace(query, k=40))
    assert len(first.results) == len(second.results) == 20
    assert first.results + second.results == whole.results
    assert [r.rank for r in whole.results] == list(range(1, 41))


def test_a_page_says_how_many_there_are_and_what_the_ranking_leaves_out(small):
    beyond = small.search(replace(BEES, offset=39))
    assert (beyond.results, beyond.total, beyond.corpus_size) == ((), 39, 40)
    assert not beyond.truncated
    assert len(small.search(replace(BEES, offset=30, k=20)).results) == 9
    lexical = small.search(replace(BEES, system="bm25"))
    assert lexical.truncated
    assert lexical.total < 39


# Bad questions


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aspect": "methods"}, ("'methods'", "background, method, result")),
        ({"system": "bm52"}, ("'bm52'", "bm25, dense, late-interaction, hybrid, aspect")),
        ({"seed": "nobody"}, ("'nobody'", "'small'")),
        ({"k": 0}, ("0", "at least 1")),
        ({"offset": -1}, ("-1", "0")),
        ({"steer": 1.01}, ("1.01", "0 to 1")),
        ({"steer": float("nan")}, ("nan", "0 to 1")),
        ({"text": "Bees."}, ("one seed", "doc_id or a text")),
        ({"seed": None}, ("one seed", "doc_id or a text")),
        ({"seed": None, "text": " \n"}, ("text is empty", "paragraph")),
        ({"seed": None, "text": "A " * PASTED_CHARS}, ("100,000", "50,000", "import the whole")),
        ({"focus": (3,)}, ("3 sentences", "no sentence 4")),
        ({"focus": (-1,)}, ("3 sentences", "no sentence 0")),
        (
            {"instruction": "x" * (LONGEST_INSTRUCTION + 1)},
            (f"{LONGEST_INSTRUCTION + 1:,}", f"{LONGEST_INSTRUCTION:,}"),
        ),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_with_what_can(small, changes, said):
    with pytest.raises(BadInputError) as caught:
        small.search(replace(BEES, **changes))
    for part in said:
        assert part.lower() in str(caught.value).lower()


def test_a_corpus_that_is_not_there_is_refused_with_those_that_are(small, fresh):
    for explorer, says in ((small, r"no corpus 'smal'.*Known: small"), (fresh, "None is imported")):
        with pytest.raises(UnknownNameError, match=says):
            explorer.search(replace(BEES, corpus="smal"))
