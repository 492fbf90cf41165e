"""Confidence intervals of a mean over queries, and tests of differences between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from engine.measures.metrics import mean

RESAMPLES = 10_000
"""Of the randomisation test and of the bootstrap."""
ROUNDING = 1e-12
"""Measures that differ by no more are equal: sums in another order differ that much."""


def confidence_interval(
    values: Sequence[float | None], level: float = 0.95
) -> tuple[float, float] | None:
    """Bounds of a confidence interval for the mean; None with fewer than two defined values.

    Bias-corrected and accelerated bootstrap over queries (Efron 1987), by scipy, 10,000 draws with
    a fixed seed; too narrow for a handful of values.

    Args:
        values: one per query.
        level: of confidence, between 0 and 1.
    """
    from scipy.stats import bootstrap

    defined = np.array([v for v in values if v is not None], dtype=float)
    if defined.size < 2:
        return None
    if np.ptp(defined) <= ROUNDING:
        return float(defined.min()), float(defined.max())
    found = bootstrap(
        (defined,),
        np.mean,
        confidence_level=level,
        n_resamples=RESAMPLES,
        batch=1_000,
        vectorized=True,
        method="BCa",
        rng=0,
    ).confidence_interval
    return float(found.low), float(found.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979); in the order given, capped at 1."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for position, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[i]))
        corrected[i] = highest
    return corrected


def significance(
    per_query: Mapping[str, Sequence[float | None]], measure: str
) -> list[dict[str, object]]:
    """Pairs of systems on the same queries: difference of means, and two tests of it.

    Args:
        per_query: system -> one value per query, in one order of queries; None where undefined. A
            pair is tested on queries where both are defined, at least two.

    Returns:
        one dict per pair with ``queries`` (their number), ``difference`` (first minus second),
            ``t_test_p`` (paired; None where all differences are equal and not 0),
            ``randomisation_p`` (sign flips: all if at most 10,000, else that many with a fixed
            seed) and both after Holm over the pairs with a p-value.
    """
    pairs = {
        (a, b): _differences(per_query[a], per_query[b]) for a, b in combinations(per_query, 2)
    }
    return [{**row, "systems": [*row["systems"]]} for row in paired_tests(pairs, measure)]


def paired_tests(
    pairs: Mapping[tuple[str, str], Sequence[float]], measure: str
) -> list[dict[str, Any]]:
    """The rows of :func:`significance` for pairs of systems with their differences per query."""
    rows: list[dict[str, Any]] = []
    t_values, r_values = [], []
    for names, differences in pairs.items():
        if len(differences) < 2:
            continue
        t_values.append(_t_test(differences))
        r_values.append(_randomisation_test(differences))
        rows.append(
            {
                "systems": names,
                "measure": measure,
                "queries": len(differences),
                "difference": mean(differences),
            }
        )
    corrected = zip(
        rows, t_values, _holm_of_defined(t_values), r_values, holm(r_values), strict=True
    )
    for row, t, t_holm, r, r_holm in corrected:
        row |= {"t_test_p": t, "t_test_p_holm": t_holm}
        row |= {"randomisation_p": r, "randomisation_p_holm": r_holm}
    return rows


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> list[float]:
    """Per query where both are defined; rounding errors become 0."""
    if len(first) != len(second):
        raise ValueError(
            f"Systems are compared on the same queries; one has {len(first)} values, "
            f"the other {len(second)}."
        )
    pairs = zip(first, second, strict=True)
    differences = [x - y for x, y in pairs if x is not None and y is not None]
    return [0.0 if abs(d) <= ROUNDING else d for d in differences]


def _holm_of_defined(p_values: Sequence[float | None]) -> list[float | None]:
    """:func:`holm` over the defined p-values."""
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]


def _t_test(differences: Sequence[float]) -> float | None:
    """Two-sided p-value of the paired t-test; 1 without, None with equal differences."""
    from scipy.stats import ttest_1samp

    if not any(differences):
        return 1.0
    if max(differences) - min(differences) <= ROUNDING:
        return None
    return float(ttest_1samp(differences, 0.0).pvalue)


def _randomisation_test(differences: Sequence[float]) -> float:
    """Two-sided p-value: how often random signs make a mean as large (Fisher 1935)."""
    from scipy.stats import permutation_test

    if not any(differences):
        return 1.0
    test = permutation_test(
        (differences,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=1_000,
        rng=0,
    )
    return float(test.pvalue)
