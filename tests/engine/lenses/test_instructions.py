"""What people may write instead of picking an aspect, and what it is understood as."""

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from engine.config import ASSETS
from engine.errors import BadInputError
from engine.lenses.definitions import (
    RESEARCH,
    SHIPPED,
    built_in_variants,
    choose_lens,
    lens_from_fields,
)
from engine.lenses.glossary import gloss
from engine.search.interpretation import lens_words
from engine.types.searches import Query
from tests.fakes.small_corpus import OWN

WORDINGS = ASSETS / "wordings"
SLACK = 0.03
"""Accuracy that another build of the numeric libraries may cost."""


@pytest.fixture
def research(lenses):
    return lenses["research"]


def read_rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def named(weights, lens=RESEARCH):
    return {lens.aspects[i].key for i in np.flatnonzero(weights)}


@pytest.mark.nightly
def test_wordings_nobody_fitted_are_read_as_well_as_recorded(lenses):
    recorded = json.loads((WORDINGS / "reader.json").read_text("utf-8"))["accuracy"]["test"]
    rows = [row for path in WORDINGS.glob("test*.jsonl") for row in read_rows(path)]
    right = {"wants": 0, "avoids": 0, "both": 0}
    for row in rows:
        lens = choose_lens(row["lens"])
        reading = lenses[row["lens"]].read(row["text"])
        wants, avoids = named(reading.wants, lens), named(reading.avoids, lens)
        only_against = row["avoids"] and not row["wants"]  # asks for all the others
        every = {aspect.key for aspect in lens.aspects}
        asked = every - set(row["avoids"]) if only_against else set(row["wants"])
        right["wants"] += wants == asked
        right["avoids"] += avoids == set(row["avoids"])
        right["both"] += wants == asked and avoids == set(row["avoids"])
    for part, count in right.items():
        assert count / len(rows) >= recorded[part] - SLACK, part


def test_the_reverse_wording_rules_out_just_its_aspect_in_a_lens_of_ones_own_too(lenses, tmp_path):
    own = lens_from_fields(OWN, "own")
    for lens in (*SHIPPED, own):
        words = lens_words(own, tmp_path) if lens is own else lenses[lens.key]
        for aspect in lens.aspects:
            (reverse,) = built_in_variants(lens, aspect.key, "aspect", 0.5, ["reverse"])
            assert named(words.read(reverse.instruction).avoids, lens) == {aspect.key}


def test_no_wording_is_both_fitted_on_and_measured_on():
    fitted = [*WORDINGS.glob("dev*"), WORDINGS / "names.jsonl", WORDINGS / "statements.jsonl"]
    texts = [
        {
            " ".join(re.findall(r"\w+", str(row.get(field, "")).casefold()))
            for path in paths
            for row in read_rows(path)
            for field in ("text", "english")
        }
        for paths in (fitted, [WORDINGS / "validation.jsonl"], WORDINGS.glob("test*.jsonl"))
    ]
    for one, other in combinations(texts, 2):
        assert one & other <= {""}  # of those without a translation


@pytest.mark.parametrize("lens", SHIPPED, ids=lambda lens: lens.key)
def test_every_wording_that_ships_is_read_as_its_aspect(lens, lenses):
    for aspect in lens.aspects:
        for words in (aspect.instruction, aspect.definition, *aspect.paraphrases):
            reading = lenses[lens.key].read(words)
            assert lens.aspects[int(reading.wants.argmax())].key == aspect.key, words
            assert (reading.strength, reading.avoids.any()) == (1.0, False), words
    for words in (lens.generic, f"more {lens.things} like this"):
        assert lenses[lens.key].read(words).strength == 0.0, words


@pytest.mark.parametrize(
    ("words", "wants", "avoids"),
    [
        ("similar evaluation set-up, ignore the topic", {"method"}, {"background"}),
        ("the same finding, whatever the method", {"result"}, {"method"}),
        ("anything but the method", {"background", "result"}, {"method"}),
        ("similar findings, not the topic, the task or the field", {"result"}, {"background"}),
        ("papers that do not ignore the method", {"method"}, set()),
        ("ignore everything except the method", {"method"}, set()),
        ("I don't care about the results, only the technique", {"method"}, {"result"}),
        ("the topic does not matter, same technique", {"method"}, {"background"}),
        ("trained without labelled data", {"method"}, set()),
        ("bigger models are not better", {"result"}, set()),
        ("crowdsourced labels rather than experts", {"method"}, set()),
        ("also runs in linear time", {"result"}, set()),
        ("方法相同，主题无关", {"method"}, {"background"}),
        ("ähnliche Methode, egal welches Thema", {"method"}, {"background"}),
        ("même méthode, peu importe le sujet", {"method"}, {"background"}),
        ("mismo método, sin importar el tema", {"method"}, {"background"}),
        ("Ergebnisse sollen ähnlich sein", {"result"}, set()),
        ("<script>alert(1)</script><b>method</b>", {"method"}, set()),
    ],
)
def test_a_wording_wants_some_aspects_and_rules_others_out(words, wants, avoids, research):
    reading = research.read(words)
    assert (named(reading.wants), named(reading.avoids)) == (wants, avoids)
    assert reading.strength == 1.0
    assert reading.wants.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "words",
    [
        RESEARCH.generic,
        "more like this",
        "published in the same journal",  # which no aspect of the lens is about
        "",
        "!?... --- ,,\n🐝🐝",
        "sehr gern",  # of which the glossary leaves nothing
        "吗",
    ],
)
def test_words_that_name_no_aspect_ask_for_none(words, research):
    reading = research.read(words)
    assert (*reading.wants, *reading.avoids, reading.strength) == (0.0,) * 7


def test_other_languages_are_read_through_a_list_of_words():
    for words in ("même méthode, peu importe le sujet", "mismo método, sin importar el tema"):
        assert gloss(words) == "same method, regardless of the topic"
    assert gloss("方法相同，主题无关") == "method same, topic does not matter"


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        ("the topic does not matter, same technique", "same technique"),
        ("papers with the same results regardless of the method", "papers with the same results"),
        ("ignore the topic", ""),
        ("trained without labelled data", "trained without labelled data"),
    ],
)
def test_what_is_ruled_out_is_no_part_of_what_is_looked_for(words, subject, research):
    assert research.read(words).subject == subject


def test_a_wording_that_asks_for_no_aspect_says_so_and_leaves_the_ranking_alone(small):
    query = Query("small", seed="bees-network")
    found = small.search(replace(query, instruction="by tomorrow"))
    (note,) = found.notes
    assert "none of the aspects" in note
    assert "Background, Method, Result" in note
    assert [r.doc_id for r in found.results] == [r.doc_id for r in small.search(query).results]
    with pytest.raises(BadInputError, match="20,000 characters; at most 2,000"):
        small.search(replace(query, instruction="x" * 20_000))
    assert small.search(replace(query, instruction="the same method " * 124)).weights
