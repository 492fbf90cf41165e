"""From several people's grades to one, and how far they agree: nothing changes, all is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

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
    decide,
    find_agreement,
    find_disagreements,
    group_measures,
    pair_measures,
)
from engine.errors import BadInputError, UnknownNameError
from engine.types.annotating import GRADED, Judgment, Project
from engine.types.searches import Query

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUERY = "bees-network_method"


def said(who, grade, doc_id="d", **more):
    verdict = "grade" if grade is not None else "unsure"
    judgment = Judgment("q", doc_id, who, grade, verdict, corpus="c", project="p", time=NOW)  # type: ignore[arg-type]
    return replace(judgment, **more)  # type: ignore[arg-type]


def test_a_grade_rests_on_a_decision_on_agreement_or_on_one_person():
    found = decide(
        [
            *(said("ann", 0, "split"), said("bob", 3, "split")),
            *(said("ann", 1, "open"), said("bob", 3, "open")),
            *(said("ann", 2, "both"), said("bob", 2, "both")),
            *(said("ann", 1, "one"), said("bob", None, "one")),
            said("bob", None, "nobody"),
            said("judge", 3, "model", origin="model"),
            said("lead", 1, "split", origin="adjudication"),
        ]
    )
    assert found.grades == {"q": {"split": 1, "both": 2, "one": 1}}
    assert {d.doc_id: d.basis for d in found.decisions} == {
        "split": "adjudicated",
        "open": "undecided",
        "both": "agreed",
        "one": "single",
    }
    assert found.undecided == 1
    assert any("1 item is left out" in note for note in found.notes)
    assert any("1 item was graded by a model only" in note for note in found.notes)


@pytest.mark.parametrize(("grades", "median"), [((1, 3), 1), ((0, 2, 3), 2), ((0, 1, 2, 3), 1)])
def test_an_undecided_item_gets_the_lower_median_only_when_asked(grades, median):
    judgments = [said(f"a{n}", grade) for n, grade in enumerate(grades)]
    assert decide(judgments).grades == {}
    found = decide(judgments, median=True)
    assert found.grades == {"q": {"d": median}}
    assert any("median" in note for note in found.notes)


def test_the_widest_disagreement_comes_first_then_doubts_and_what_is_decided_last():
    judgments = [
        *(said("ann", None, "doubt"), said("bob", 1, "doubt")),
        *(said("ann", 1, "near"), said("bob", 2, "near")),
        *(said("ann", 0, "far"), said("bob", 3, "far")),
        *(said("ann", 2, "agreed"), said("bob", 2, "agreed")),
        *(said("ann", 0, "decided"), said("bob", 3, "decided")),
        said("lead", 2, "decided", origin="adjudication"),
        *(said("ann", 2, "model"), said("judge", 0, "model", origin="model")),
    ]
    found = find_disagreements(judgments)
    assert [(d.doc_id, d.spread) for d in found] == [
        ("far", 3),
        ("near", 1),
        ("doubt", 0),
        ("decided", 3),
    ]
    assert found[-1].decided is not None
    assert found[-1].decided.relevance == 2
    assert [j.annotator for j in found[0].said] == ["ann", "bob"]


def project_of_three(explorer):
    annotation = explorer.annotation
    project = annotation.project("small")
    for who, grade in (("ann", 0), ("bob", 3), ("lead", 2)):
        annotation.judge(project, Judgment(QUERY, "bread-network", who, grade))
    return project


def test_a_decision_changes_nobody_s_grade_and_can_be_taken_back(small_copy):
    annotation = small_copy.annotation
    project = project_of_three(small_copy)
    before = annotation.judgments(project)
    assert annotation.exchange.qrels(project).undecided == 1
    decided = annotation.adjudicate(project, QUERY, "bread-network", 1, "as the guide says", "lead")
    assert (decided.origin, decided.annotator, decided.note) == (
        "adjudication",
        "lead",
        "as the guide says",
    )
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 1}}
    assert annotation.judgments(project) == [*before, decided]
    annotation.adjudicate(project, QUERY, "bread-network", None, "", "lead")
    assert annotation.exchange.qrels(project).undecided == 1
    assert annotation.judgments(project) == before


def test_a_decision_by_somebody_else_is_replaced_only_by_who_saw_it(small_copy):
    annotation = small_copy.annotation
    project = project_of_three(small_copy)
    item = (project, QUERY, "bread-network")
    first = annotation.adjudicate(*item, 1, "as the guide says", "ann", seen="")
    with pytest.raises(BadInputError, match=r"ann decided .* in the meantime"):
        annotation.adjudicate(*item, 3, "both count 3", "bob", seen="")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 1}}
    annotation.adjudicate(*item, 1, "as the guide says", "ann", seen="")  # a double click
    with pytest.raises(BadInputError, match=r"ann decided .* in the meantime"):
        annotation.adjudicate(*item, 3, "both count 3", "bob", seen=first.event)
    second = annotation.judgments(project)[-1]
    annotation.adjudicate(*item, 3, "both count 3", "bob", seen=second.event)
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 3}}
    annotation.adjudicate(*item, 0, "whatever stands", "ann")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 0}}


def test_only_a_decision_of_one_s_own_that_stands_is_taken_back(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    annotation.judge(project, Judgment(QUERY, "bread-network", "ann", 0))
    back = (project, QUERY, "bread-network", None, "")
    with pytest.raises(BadInputError, match=r"'ann' decided nothing.*nothing to take back"):
        annotation.adjudicate(*back, "ann")
    annotation.adjudicate(project, QUERY, "bread-network", 1, "so", "lead")
    with pytest.raises(BadInputError, match=r"'ann' decided nothing.*decided by lead"):
        annotation.adjudicate(*back, "ann")
    assert len(annotation.history(project)) == 2
    for _ in range(2):  # an answer that got lost: the same is sent again
        annotation.adjudicate(*back, "lead", event="back")
    assert len(annotation.history(project)) == 3
    with pytest.raises(BadInputError, match="nothing to take back"):
        annotation.adjudicate(*back, "lead")
    assert annotation.exchange.qrels(project).grades == {QUERY: {"bread-network": 0}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"by": "ann"}, "cannot adjudicate.*leads are lead"),
    ({"relevance": 7}, "Grades are 0, 1, 2, 3"),
    ({"reason": " "}, "no reason"),
    ({"reason": "x" * 1_000_000}, "at most 10,000"),
    ({"query_id": "nothing_method"}, "nothing_method"),
    ({"doc_id": "nothing"}, "nothing"),
    ({"doc_id": "bees-network"}, "is the seed of"),
]


def test_a_decision_that_cannot_be_is_refused(small_copy):
    annotation = small_copy.annotation
    project = annotation.save(Project("small", leads=("lead",)), "lead")
    annotation.judge(project, Judgment(QUERY, "bread-network", "ann", 0))
    asked = {"query_id": QUERY, "doc_id": "bread-network", "relevance": 1, "reason": "why not"}
    for changes, words in REFUSED:
        with pytest.raises((BadInputError, UnknownNameError), match=words):
            annotation.adjudicate(project, **{**asked, "by": "lead", **changes})
    assert len(annotation.history(project)) == 1
    with pytest.raises(BadInputError, match=r"'ann' cannot change project.*lead"):
        annotation.save(replace(project, leads=("ann",)), "ann")
    assert annotation.save(replace(project, per_item=2), "lead").per_item == 2


def test_nobody_s_grades_are_held_against_their_own_decisions(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    for doc_id, lead, ann in (("bread-network", 3, 0), ("maps-survey", 0, 3)):
        annotation.judge(project, Judgment(QUERY, doc_id, "lead", lead))
        annotation.judge(project, Judgment(QUERY, doc_id, "ann", ann))
        annotation.adjudicate(project, QUERY, doc_id, lead, "I said so", "lead")
    rows = small_copy.human_rows(project)
    assert rows["lead"].metrics["nDCG@10"] < 0.8, "not 1.0 by their own word"  # type: ignore[operator]
    assert rows["lead"].metrics["nDCG@10"] == pytest.approx(rows["ann"].metrics["nDCG@10"])


def test_a_corpus_s_own_project_takes_every_seed_and_aspect_and_nothing_else(small_copy):
    annotation = small_copy.annotation
    project = annotation.project("small")
    for query_id, aspect in (("bees-network_method", "method"), ("bees-network_any", None)):
        annotation.judge(project, Judgment(query_id, "bread-network", "ann", 2))
        query = annotation.queries(project)[query_id]
        assert (query.seed, query.aspect) == ("bees-network", aspect)
    for strange in ("bees-network", "bees-network_colour", "nobody_method", "_method", ""):
        with pytest.raises(UnknownNameError, match="id is SEED_ASPECT"):
            annotation.judge(project, Judgment(strange, "bread-network", "ann", 2))
    assert len(annotation.queries(project)) == 2


def test_what_somebody_decides_is_not_shown_as_their_own_grade(small_copy):
    annotation, notebook = small_copy.annotation, small_copy.notebook
    query = Query("small", seed="bees-network", aspect="method")
    notebook.judge(query, "bread-network", 2, annotator="ann")
    annotation.adjudicate(annotation.project("small"), QUERY, "bread-network", 0, "no", "ann")
    assert notebook.grades(query, "ann") == {"bread-network": 2}
    notebook.judge(query, "bread-network", None, annotator="ann")
    assert notebook.grades(query, "ann") == {}


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


def of(grades):
    return [
        said(who, grade, f"d{i}")
        for who, row in grades
        for i, grade in enumerate(row)
        if grade is not None
    ]


def measure_of(measures, name):
    return next(measure for measure in measures if measure.name == name)


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
