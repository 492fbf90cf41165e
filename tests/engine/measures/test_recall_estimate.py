"""Estimates of how many documents of a ranking are relevant."""

import numpy as np

from engine.measures.recall_estimate import estimate_recall
from engine.types.annotating import FEWEST_JUDGED as FEWEST


def test_the_interval_holds_the_truth_at_its_level():
    generator, held = np.random.default_rng(7), []
    for _ in range(60):
        scores = np.sort(generator.normal(size=200))[::-1]
        chances = 1 / (1 + np.exp(-(generator.normal(-2, 1) + 2 * scores)))
        relevant = generator.random(200) < chances
        made = estimate_recall(scores, {row: bool(relevant[row]) for row in range(30)})
        held.append(made.low <= relevant.sum() <= made.high)
        assert made.found <= made.low <= made.total <= made.high <= made.found + 170
    assert np.mean(held) >= 0.95


def test_all_judged_is_exact_and_few_judgments_give_no_estimate():
    relevant = {row: row % 3 == 0 for row in range(FEWEST)}
    made = estimate_recall(np.arange(FEWEST)[::-1], relevant)
    assert (made.low, made.total, made.high) == (4, 4, 4)
    assert estimate_recall(np.arange(50), dict.fromkeys(range(FEWEST - 1), True)) is None
