"""How many relevant documents a ranking holds, estimated from judgments of some of them.

Logistic regression of relevance on the standardised score, with the posterior of its two
coefficients on a grid. Relevant documents come in groups, so that judgments tell less than as many
independent ones: the likelihood is tempered (a quasi-binomial with an overdispersion of 10/3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from engine.numeric import FloatArray
from engine.types.annotating import FEWEST_JUDGED, RecallEstimate

DISPERSION = 10 / 3
LEVEL = 0.95
"""Of the interval."""
_INTERCEPT, _SLOPE = (-2.0, 2.5), (1.5, 1.0)
"""Mean and standard deviation of the prior."""
_GRID = np.stack(
    [axis.ravel() for axis in np.meshgrid(np.linspace(-8, 6, 57), np.linspace(-0.5, 6, 53))]
)
_DRAWS = 4000


def combined(estimates: Sequence[RecallEstimate]) -> RecallEstimate:
    """The estimates of several queries as one; errors of different queries are independent."""
    found, judged = sum(one.found for one in estimates), sum(one.judged for one in estimates)
    total = sum(one.total for one in estimates)
    below = math.hypot(*(one.total - one.low for one in estimates))
    above = math.hypot(*(one.high - one.total for one in estimates))
    low = max(found, math.floor(total - below))
    return RecallEstimate(found, judged, total, low, math.ceil(total + above))


def estimate_recall(scores: FloatArray, relevant: Mapping[int, bool]) -> RecallEstimate | None:
    """The number of relevant documents of a ranking; None below :data:`FEWEST_JUDGED` judgments.

    Args:
        scores: of all documents of the ranking.
        relevant: row of ``scores`` -> whether that document was judged relevant.

    >>> first = dict.fromkeys(range(10), True) | dict.fromkeys(range(10, 20), False)
    >>> made = estimate_recall(np.linspace(2, -2, 100), first)
    >>> (made.found, made.low) if made else None
    (10, 10)
    """
    if len(relevant) < FEWEST_JUDGED:
        return None
    values = np.asarray(scores, dtype=np.float64)
    values = (values - values.mean()) / (values.std() or 1.0)
    rows = np.fromiter(relevant, dtype=np.int64)
    labels = np.fromiter(relevant.values(), dtype=np.float64)
    left = np.delete(values, rows)
    intercept, slope = _GRID
    logits = intercept[:, None] + slope[:, None] * values[rows]
    fit = (labels * logits - np.logaddexp(0.0, logits)).sum(axis=1) / DISPERSION
    for column, (mean, deviation) in ((intercept, _INTERCEPT), (slope, _SLOPE)):
        fit -= 0.5 * ((column - mean) / deviation) ** 2
    weights = np.exp(fit - fit.max())
    kept = np.flatnonzero(weights > 1e-5 * weights.sum())
    chances = 1.0 / (1.0 + np.exp(-(intercept[kept, None] + slope[kept, None] * left)))
    means = chances.sum(axis=1)
    deviations = np.sqrt(DISPERSION * (chances * (1.0 - chances)).sum(axis=1))
    generator = np.random.default_rng(0)
    drawn = generator.choice(len(kept), _DRAWS, p=weights[kept] / weights[kept].sum())
    more = generator.normal(means[drawn], deviations[drawn]).clip(0, len(left))
    low, middle, high = np.quantile(more, ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
    found = int(labels.sum())
    interval = found + int(np.floor(low)), found + int(np.ceil(high))
    return RecallEstimate(found, len(rows), found + float(middle), *interval)
