"""Agreement: the coefficients are the field's, and say what they leave out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from engine.annotate.adjudication import (
    ALPHA,
    FLEISS,
    KAPPAS,
    RAW,
    agreement_over_time,
    find_agreement,
    group_measures,
    pair_measures,
)
from engine.types.annotating import GRADED, Judgment

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
# Fleiss (1971) as Wikipedia works it through: fourteen raters, ten items, five categories.
FLEISS_TABLE = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Krippendorff (2011), section "any number of observers": four observers, twelve units, gaps.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def said(who, grade, doc_id="d", query_id="q", verdict="grade", origin="person"):
    return Judgment(query_id, doc_id, who, grade, verdict, origin=origin, time=NOW)


def of(grades):
    return [
        said(who, grade, f"d{i}")
        for who, row in grades
        for i, grade in enumerate(row)
        if grade is not None
    ]


def measure_of(measures, name):
    return next(measure for measure in measures if measure.name == name)


# -- coefficients --------------------------------------------------------------------------------


def test_fleiss_kappa_is_that_of_the_worked_example():
    worked = measure_of(group_measures(np.array(FLEISS_TABLE)), FLEISS)
    assert worked.value == pytest.approx(0.20993, abs=1e-5)
    uneven = np.array([[2, 0], [1, 2]])
    assert measure_of(group_measures(uneven), FLEISS).value is None


def test_alpha_is_that_of_the_worked_example_with_gaps():
    columns = list(zip(*KRIPPENDORFF, strict=True))
    counts = [[column.count(v) for v in range(1, 6)] for column in columns]
    paired = np.array([row for row in counts if sum(row) > 1])
    assert measure_of(group_measures(paired), ALPHA).value == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_are_those_of_the_packages(seed):
    random = np.random.default_rng(seed)
    confusion = random.integers(0, 12, (4, 4))
    rows, columns = np.indices(confusion.shape).reshape(2, -1)
    measures = pair_measures(confusion)
    for name, weights in KAPPAS.items():
        expected = cohen_kappa_score(
            rows, columns, labels=range(4), weights=weights, sample_weight=confusion.ravel()
        )
        assert measure_of(measures, name).value == pytest.approx(expected)
    units = [random.integers(0, 4, random.integers(2, 5)).tolist() for _ in range(30)]
    counts = np.array([[unit.count(v) for v in range(4)] for unit in units])
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal")
    assert measure_of(group_measures(counts), ALPHA).value == pytest.approx(alpha)


def test_an_interval_holds_its_value_narrows_with_more_items_and_is_the_same_every_time():
    few = np.array([[6, 2, 0, 0], [1, 5, 2, 0], [0, 2, 6, 1], [0, 0, 1, 4]])
    widths = []
    for table in (few, few * 20):
        for measure in pair_measures(table):
            assert measure.interval is not None
            low, high = measure.interval
            assert low < measure.value < high  # type: ignore[operator]
        widths.append(high - low)
    assert widths[1] < widths[0] / 3
    assert pair_measures(few) == pair_measures(few)


def test_where_nothing_can_be_said_the_value_is_none_and_not_one():
    nothing = np.zeros((0, 4), dtype=np.int64)
    no_pairs = np.zeros((4, 4), dtype=np.int64)
    for measure in (*group_measures(nothing), *pair_measures(no_pairs)):
        assert (measure.value, measure.interval, measure.items) == (None, None, 0)
    same = pair_measures(np.diag([30, 0, 0, 0]))
    assert [m.value for m in same] == [1.0, None, None, None]
    assert [m.value for m in group_measures(np.array([[2, 0, 0, 0]] * 30))] == [1.0, None, None]


# -- who and what counts -----------------------------------------------------------------------


def test_partial_overlap_counts_with_alpha_and_is_named_where_fleiss_cannot_take_it():
    grades = [(f"a{n}", [g and g - 1 for g in row[:9]]) for n, row in enumerate(KRIPPENDORFF)]
    found = find_agreement(of(grades), GRADED, {})
    assert measure_of(found.measures, FLEISS).value is None
    assert measure_of(found.measures, ALPHA).items == 9
    assert any("3 to 4 grades" in note for note in found.notes)
    assert len(found.pairs) == 6


def test_skips_unsure_verdicts_and_decisions_are_no_grades_and_are_counted():
    judgments = [
        *of([("ann", [0, 1, 2]), ("bob", [0, 1, 3])]),
        said("ann", None, "d9", verdict="skip"),
        said("bob", None, "d9", verdict="unsure"),
        said("bob", 2, "alone"),
        said("lead", 3, "d2", origin="adjudication"),
    ]
    found = find_agreement(judgments, GRADED, {"q": "method"})
    assert found.annotators == ("ann", "bob")
    assert measure_of(found.measures, RAW).value == pytest.approx(2 / 3)
    assert found.confusion["ann", "bob"] == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1), (0,) * 4)
    assert found.by_aspect["method"] == found.measures
    assert any("1 skip and 1 unsure" in note for note in found.notes)
    assert any("1 item has one grade only" in note for note in found.notes)


def test_a_model_is_compared_with_people_and_never_counts_as_one():
    people = of([("ann", [0, 1, 2] * 4), ("bob", [0, 1, 3] * 4)])
    model = [said("judge", 0, f"d{i}", origin="model") for i in range(12)]
    alone, beside = (find_agreement(j, GRADED, {}) for j in (people, [*people, *model]))
    assert alone.measures == beside.measures
    assert set(beside.pairs) == {("ann", "bob"), ("ann", "judge"), ("bob", "judge")}
    assert any("judge (a model)" in note for note in beside.notes)


# -- over time -----------------------------------------------------------------------------------


def test_agreement_over_time_ends_at_the_agreement_there_is():
    rng = np.random.default_rng(3)
    judged = [
        replace(said(who, int(rng.integers(4)), f"d{item}"), time=NOW + timedelta(hours=2 * item))
        for item in range(30)
        for who in ("Ada", "Grace", "Ben")[: 2 + item % 2]
    ]
    judged.append(said("Ada", None, "d1", verdict="skip"))
    judged.append(said("lead", 3, "d2", origin="adjudication"))
    whole = find_agreement(judged, GRADED, {})
    by_items = agreement_over_time(judged, GRADED, "items", most=10)
    by_day = agreement_over_time(judged, GRADED, "day")
    assert [point.items for point in by_items] == list(range(3, 31, 3))
    assert [point.items for point in by_day] == [6, 18, 30], "12:00 on the first day, 12 a day"
    assert by_items[-1].measures == by_day[-1].measures == whole.measures
    first = find_agreement([j for j in judged if int(j.doc_id[1:]) < 3], GRADED, {})
    assert by_items[0].measures == first.measures
