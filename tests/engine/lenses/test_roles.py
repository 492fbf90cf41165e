"""The roles that sentences get where the source gives none."""

import json
from itertools import pairwise, product

import numpy as np
import pytest

from engine.lenses.roles import (
    WEIGHTS,
    RoleClassifier,
    chain_marginals,
    role_classifier,
)
from tools.fit import roles as fit_roles

ABSTRACT = [
    "Little is known about how bees survive the winter.",
    "We trained a neural network on photographs of brood combs.",
    "Our model outperforms the baseline by 12% and the results show fewer losses.",
]


def test_the_probabilities_of_a_sentence_sum_to_one():
    for sentences in (ABSTRACT, [], ["", "?", "🐝", "x " * 5000], ["One."] * 200):
        predicted = role_classifier().predict(sentences)
        assert predicted.shape == (len(sentences), 3)
        assert predicted.sum(axis=1) == pytest.approx(1.0)
        assert (predicted > 0).all()


def test_an_easy_abstract_is_read_as_a_person_would():
    predicted = role_classifier().predict(ABSTRACT).argmax(axis=1)
    assert [role_classifier().roles[i] for i in predicted] == ["background", "method", "result"]


def test_a_sentence_is_read_in_the_light_of_its_neighbours():
    vague = "Three cases are considered."
    classifier, result = role_classifier(), role_classifier().roles.index("result")
    after = ["We outperform the baseline by 12%.", "Results show significant gains."]
    before = ["Little is known about this problem.", "Existing methods ignore it."]
    among_results = classifier.predict([after[0], vague, after[1]])[1, result]
    among_background = classifier.predict([before[0], vague, before[1]])[1, result]
    assert among_results > 2 * among_background


def test_the_chain_gives_the_marginals_of_all_sequences_of_roles():
    rng = np.random.default_rng(7)
    logits, transitions = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    expected = np.zeros((4, 3))
    for sequence in product(range(3), repeat=4):
        score = logits[range(4), sequence].sum()
        score += sum(transitions[a, b] for a, b in pairwise(sequence))
        expected[range(4), sequence] += np.exp(score)
    expected /= expected.sum(axis=1, keepdims=True)
    assert chain_marginals(logits, transitions) == pytest.approx(expected)


def test_three_in_four_of_csfcubes_labels_are_found(csfcube):
    accuracy = fit_roles.accuracy(limit=100)
    assert accuracy >= 0.75


@pytest.mark.nightly
def test_the_shipped_weights_are_what_the_shipped_abstracts_give(tmp_path):
    fit_roles.fit(tmp_path / "again.json")
    shipped = json.loads(WEIGHTS.read_text("utf-8"))
    again = json.loads((tmp_path / "again.json").read_text("utf-8"))
    assert again["roles"] == shipped["roles"]
    assert again["terms"] == shipped["terms"]
    for name in (
        *("intercept", "position_weights", "transitions", "idf"),
        *("own", "from_next", "from_previous"),
    ):
        assert np.array(again[name]) == pytest.approx(np.array(shipped[name]), abs=2e-3)
    refitted = RoleClassifier(tmp_path / "again.json").predict(ABSTRACT)
    assert refitted == pytest.approx(role_classifier().predict(ABSTRACT), abs=1e-3)
    assert again["vectors"]["share"] == shipped["vectors"]["share"]
    for name in ("intercept", "weights"):
        found, expected = (np.array(weights["vectors"][name]) for weights in (again, shipped))
        assert found == pytest.approx(expected, abs=0.02)


def test_vectors_decide_where_words_do_not():
    unknown = ["Qwx zrt.", "Plm vbn."]
    vectors = np.zeros((2, 384), dtype=np.float32)
    classifier = role_classifier()
    method = classifier.roles.index("method")
    direction = np.array(json.loads(WEIGHTS.read_text("utf-8"))["vectors"]["weights"])[method, :384]
    vectors[1] = direction / np.linalg.norm(direction)
    plain, seen = classifier.predict(unknown), classifier.predict(unknown, vectors)
    assert seen.sum(axis=1) == pytest.approx(1.0)
    assert seen[1, method] > max(plain[1, method], seen[0, method])
    assert classifier.predict([], vectors[:0]).shape == (0, 3)
