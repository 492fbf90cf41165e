"""Confidence intervals and tests of significance, by hand and against textbook implementations."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from engine.measures.significance import confidence_interval, holm, significance

# Confidence intervals


def test_an_interval_holds_the_mean_and_is_about_as_wide_as_the_t_interval():
    values = np.random.default_rng(3).normal(0.6, 0.2, size=200)
    low, high = confidence_interval(list(values)) or (math.nan, math.nan)
    assert low < values.mean() < high
    t = stats.t.interval(0.95, df=199, loc=values.mean(), scale=stats.sem(values))
    assert (low, high) == (pytest.approx(t[0], abs=0.004), pytest.approx(t[1], abs=0.004))


def test_an_interval_is_the_same_every_time_and_wider_when_it_is_to_be_surer():
    values = [0.1, 0.9, 0.4, None, 0.35, 0.8, 0.2, 0.75, None, 0.6]
    assert confidence_interval(values) == confidence_interval(values)
    assert confidence_interval(values) == confidence_interval([v for v in values if v is not None])
    narrow, wide = confidence_interval(values, 0.5), confidence_interval(values, 0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_an_interval_of_equal_values_is_that_value_and_of_less_than_two_none():
    assert confidence_interval([0.25] * 5) == (0.25, 0.25)
    assert confidence_interval([0.0, None, 0.0]) == (0.0, 0.0)
    for values in ([], [None], [0.5], [0.5, None]):
        assert confidence_interval(values) is None


# Significance


def test_holm_by_hand():
    # Sorted: .005 x 4, .01 x 3, .03 x 2, .04 x 1; none below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


SCORES = {
    "a": [0.9, 0.5, 0.7, 0.8, 0.6, 0.75, 0.4, 0.65],
    "b": [0.6, 0.45, 0.72, 0.5, 0.5, 0.6, 0.41, 0.5],
    "c": [0.2, 0.5, 0.3, 0.1, 0.6, 0.2, 0.3, 0.25],
}


def test_significance_is_that_of_the_textbook():
    rows = significance(SCORES, "nDCG@20")
    assert [row["systems"] for row in rows] == [["a", "b"], ["a", "c"], ["b", "c"]]
    for row in rows:
        first, second = (np.array(SCORES[name]) for name in row["systems"])  # type: ignore[attr-defined]
        d = first - second
        assert row["measure"] == "nDCG@20"
        assert row["difference"] == pytest.approx(d.mean())
        t = d.mean() / (d.std(ddof=1) / math.sqrt(len(d)))
        assert row["t_test_p"] == pytest.approx(2 * stats.t.sf(abs(t), df=len(d) - 1))
        assert row["t_test_p"] == pytest.approx(stats.ttest_rel(first, second).pvalue)
        # Eight queries have 256 sign flips: count all those at least as extreme.
        flips = [abs((d * s).mean()) for s in itertools.product([1, -1], repeat=len(d))]
        extreme = sum(f >= abs(d.mean()) - 1e-12 for f in flips)
        assert row["randomisation_p"] == pytest.approx(extreme / 256)
    for name in ("t_test_p", "randomisation_p"):
        assert [r[f"{name}_holm"] for r in rows] == holm([float(r[name]) for r in rows])  # type: ignore[arg-type]


def test_undefined_values_leave_their_query_out_of_the_pair():
    a, b = [0.4, None, 0.6, 0.8, 0.1], [0.3, 0.9, 0.4, 0.5, None]
    (row,) = significance({"a": a, "b": b}, "p-MRR")
    (expected,) = significance({"a": [0.4, 0.6, 0.8], "b": [0.3, 0.4, 0.5]}, "p-MRR")
    assert row == expected
    assert row["queries"] == 3


def test_a_pair_without_two_common_queries_is_left_out_of_the_correction_too():
    scores = {"a": [0.1, 0.5, 0.4], "b": [0.2, 0.9, 0.6], "undefined": [None, None, 0.5]}
    (row,) = significance(scores, "p-MRR")
    assert row["systems"] == ["a", "b"]
    assert row["t_test_p_holm"] == row["t_test_p"]


def test_systems_on_different_queries_are_not_compared():
    with pytest.raises(ValueError, match="one has 2 values, the other 3"):
        significance({"a": [0.1, 0.2], "b": [0.1, 0.2, 0.3]}, "RR")


def test_rounding_is_no_difference():
    """The same p-MRR summed in another order must not become significant."""
    (row,) = significance({"a": [0.3] * 9, "b": [0.1 + 0.2] * 9}, "p-MRR")
    assert 0.1 + 0.2 != 0.3
    assert (row["t_test_p"], row["randomisation_p"]) == (1.0, 1.0)


def test_a_constant_difference_leaves_the_t_test_undefined_rather_than_certain():
    scores = {"a": [0.5] * 3, "b": [0.25] * 3, "c": [0.6, 0.1, 0.2]}
    rows = {tuple(row["systems"]): row for row in significance(scores, "RR")}  # type: ignore[arg-type]
    constant = rows["a", "b"]
    assert (constant["t_test_p"], constant["t_test_p_holm"]) == (None, None)
    assert constant["randomisation_p"] == pytest.approx(2 / 8), "+++ and --- of 8"
    others = [rows["a", "c"], rows["b", "c"]]
    corrected = holm([float(row["t_test_p"]) for row in others])  # type: ignore[arg-type]
    assert [row["t_test_p_holm"] for row in others] == corrected, "it counts as no test"
