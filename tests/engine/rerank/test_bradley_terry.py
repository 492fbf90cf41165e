"""The Bradley-Terry fit under reranking, and which pairs it asks about."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from engine.rerank.bradley_terry import (
    FIRST_SPREAD,
    SPREAD,
    TRUST,
    TRUST_SPREAD,
    Answer,
    BradleyTerry,
)
from engine.rerank.pairwise import MOST_MEETINGS, most_telling, neighbours, oriented
from engine.rerank.protocols import Options
from engine.rerank.rounds import Asking
from tests.engine.rerank.test_rerank import ByUtility, hashed


def played(strengths, first, games, seed):
    """Hard answers drawn from the model itself."""
    dice = np.random.default_rng(seed)
    n = len(strengths)
    answers = []
    for _ in range(games):
        a, b = dice.choice(n, 2, replace=False).tolist()
        p = 1 / (1 + math.exp(-(strengths[a] - strengths[b] + first)))
        answers.append(Answer(a, b, float(dice.random() < p)))
    return answers


def asking_of(n):
    return Asking([f"d{i}" for i in range(n)], ByUtility(hashed), Options(top=10), None)


def test_the_fit_is_the_most_probable_one():
    """An independent optimiser of the same posterior finds nothing better and nothing else."""
    n = 12
    answers = played(np.linspace(2, -2, n)[::-1], 0.8, 60, seed=3)
    answers += [Answer(0, 5, 0.3, 0.5), Answer(7, 2, 0.9, 2.0)]
    model = BradleyTerry(n)
    found = model.fit(answers)
    z = BradleyTerry(n).fit([]).values / TRUST
    precision = np.linalg.inv(SPREAD * np.eye(n) + TRUST_SPREAD * np.outer(z, z))

    def loss(x):
        off = x[:n] - TRUST * z
        value = off @ precision @ off / 2 + x[n] ** 2 / FIRST_SPREAD / 2
        for a, b, won, weight in answers:
            margin = x[a] - x[b] + x[n]
            value += weight * (np.logaddexp(0, -margin) + (1 - won) * margin)
        return float(value)

    best = minimize(loss, np.zeros(n + 1), method="BFGS", options={"gtol": 1e-9})
    assert [*found.values, found.first] == pytest.approx(best.x, abs=1e-4)
    bend = np.array([[_bend(loss, best.x, i, j) for j in range(n + 1)] for i in range(n + 1)])
    assert found.covariance == pytest.approx(np.linalg.inv(bend)[:n, :n], abs=1e-3)


def _bend(loss, x, i, j, h=1e-3):  # type: ignore[no-untyped-def]
    """Second derivative by finite differences."""
    di, dj = np.eye(len(x))[i] * h, np.eye(len(x))[j] * h
    four = loss(x + di + dj) - loss(x + di - dj) - loss(x - di + dj) + loss(x - di - dj)
    return float(four / (4 * h * h))


def test_the_position_term_is_found_however_strong():
    strengths = np.linspace(2, -2, 30)
    for first in (-2.0, 0.0, 1.0, 3.0):
        found = BradleyTerry(30).fit(played(strengths, first, 3000, seed=5))
        assert found.first == pytest.approx(first, abs=0.35)


def test_the_first_round_joins_all_documents_in_one_ring():
    for n in (3, 4, 9, 50):
        pairs = neighbours(n)
        assert all(abs(a - b) <= 2 for a, b in pairs)
        ends = [i for pair in {frozenset(pair) for pair in pairs} for i in pair]
        assert all(ends.count(i) == 2 for i in range(n))
        reached = {0}
        for _ in range(n):
            reached |= {i for pair in pairs if reached & set(pair) for i in pair}
        assert reached == set(range(n))


def test_a_round_asks_new_pairs_around_the_top_and_nobody_too_often():
    asking = asking_of(40)
    asking.pairs.update(dict.fromkeys(neighbours(40)))
    pairs = most_telling(asking, BradleyTerry(40).fit([]), 20)
    assert len({frozenset(pair) for pair in pairs} - {frozenset(p) for p in neighbours(40)}) == 20
    ends = [i for pair in pairs for i in pair]
    assert max(ends.count(i) for i in range(40)) <= MOST_MEETINGS
    assert np.median(ends) < 15


def test_everybody_is_shown_first_about_as_often_as_second():
    asking = asking_of(30)
    for pairs in (neighbours(30), most_telling(asking, BradleyTerry(30).fit([]), 40)):
        asking.pairs.update(dict.fromkeys(oriented(asking, pairs)))
    for i in range(30):
        first = sum(a == i for a, _ in asking.pairs)
        second = sum(b == i for _, b in asking.pairs)
        assert abs(first - second) <= 2


def test_a_pair_asked_before_is_shown_the_other_way_round_until_all_are_used_up():
    asking = asking_of(5)
    asking.pairs.update(dict.fromkeys([(0, 1), (3, 2)]))
    assert oriented(asking, [(0, 1), (2, 3)]) == [(1, 0), (2, 3)]
    asking = asking_of(6)
    for _ in range(2):
        pairs = most_telling(asking, BradleyTerry(6).fit([]), 99)
        asking.pairs.update(dict.fromkeys(oriented(asking, pairs)))
    assert len(asking.pairs) == 30
    assert most_telling(asking, BradleyTerry(6).fit([]), 5) == []
